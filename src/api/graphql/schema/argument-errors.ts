import { type GraphQLArgument, type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from 'graphql';
import { noteInputPath } from './input-path.ts';

type Resolver = GraphQLFieldResolver<unknown, unknown>;

/**
 * Changes the resolvers of a schema so that their errors contain the path of the argument that caused them. Mutations are left
 * out: `mutation.ts` stores the path before their errors become a part of the result.
 *
 * @returns The given schema.
 */
export function withArgumentErrors(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type === schema.getMutationType()) continue;
    for (const field of Object.values(type.getFields())) {
      const { args, resolve } = field;
      // A batch resolver does not use the arguments.
      if (args.length === 0 || resolve === undefined || 'forAll' in resolve) continue;
      field.resolve = noting(resolve, args);
    }
  }
  return schema;
}

function noting(resolve: Resolver, args: readonly GraphQLArgument[]): Resolver {
  const noted: Resolver = (source, values, ctx, info) => {
    const note = (error: unknown) => noteInputPath(error, args, values);
    try {
      const value: unknown = resolve(source, values, ctx, info);
      // The promise itself is returned, so that it resolves as early as without this function. The executor adds its own
      // handlers later, so they run after `note`.
      if (value instanceof Promise) value.catch(note);
      return value;
    } catch (error) {
      note(error);
      throw error;
    }
  };
  // Plans conclude from the number of parameters whether a resolver takes `info`.
  if (resolve.length > 3 || resolve.length === 0) return noted;
  return (source, values, ctx) => noted(source, values, ctx, undefined as never);
}
