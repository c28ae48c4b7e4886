import SchemaBuilder, {
  BasePlugin,
  createInputValueMapper,
  type InputTypeFieldsMapping,
  mapInputFields,
  type PothosOutputFieldConfig,
  type SchemaTypes,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import { idIn, toGlobalId } from './global-ids.ts';

/**
 * The Pothos extensions of an argument or field that contains ids. `refersTo` is the GraphQL type of the objects that the ids
 * identify.
 */
// This is a type alias, because an interface cannot be assigned to a record of extensions.
type RefExtensions = { readonly refersTo: string };

/**
 * Returns the options of an argument, input field or field that contains the id of an object: `channelId:
 * t.id(refersTo('Channel'))`. Clients send and receive the object's global `id`. Resolvers receive and return its row id, or
 * its text if the object is not a database row. If an id is malformed or belongs to another type, resolvers receive 0 or an
 * empty text. Services then respond as for any object that does not exist.
 */
export const refersTo = (typename: string): { readonly extensions: RefExtensions } => ({
  extensions: { refersTo: typename },
});

/**
 * Returns the type of the objects whose ids an argument or field contains; undefined if it contains no ids.
 *
 * @param extensions Extensions of the argument or field.
 */
export const referredType = (extensions: object | null | undefined): string | undefined =>
  (extensions as Partial<RefExtensions> | null | undefined)?.refersTo;

/** Returns the value of a field as clients receive it. If the field contains ids, row ids are replaced by global ids. */
export function shownIds(extensions: object | null | undefined, value: unknown): unknown {
  const typename = referredType(extensions);
  if (typename === undefined) return value;
  if (Array.isArray(value)) return value.map((id) => shownIds(extensions, id));
  return value === null || value === undefined ? null : toGlobalId(typename, value as number);
}

/**
 * A Pothos plugin that converts global ids in arguments, at any depth, to row ids before resolvers run. It converts row ids in
 * results to global ids.
 */
class RefsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  readonly #mappings = new Map<string, InputTypeFieldsMapping<Types, string>>();

  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const mapping = mapInputFields(
      field.args,
      this.buildCache,
      ({ extensions }) => referredType(extensions) ?? null,
      this.#mappings,
    );
    if (mapping === null) return field;
    const toRowIds = createInputValueMapper(mapping, (globalId, { value: typename }) =>
      idIn(typename ?? '', globalId as string),
    );
    return { ...field, argMappers: [...(field.argMappers ?? []), (args) => toRowIds(args, undefined)] };
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { extensions }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (referredType(extensions) === undefined) return resolve;
    const encode = (ids: unknown) => shownIds(extensions, ids);
    return (...field) => {
      const ids: unknown = resolve(...field);
      // Ids that are available synchronously are returned synchronously, as the fields of shared events require.
      return ids instanceof Promise ? ids.then(encode) : encode(ids);
    };
  }
}

/** Name under which the schema builder finds the plugin. */
export const REFS = 'refs';

SchemaBuilder.registerPlugin(REFS, RefsPlugin);

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      refs: RefsPlugin<Types>;
    }
  }
}
