import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { withArgumentErrors } from '../../api/graphql/schema/argument-errors.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import '../../api/graphql/schema/errors.ts';
import '../../api/graphql/schema/event-types.ts';
import '../../api/graphql/schema/node.ts';
import '../../api/graphql/schema/rate-limit.ts';
import '../../api/graphql/schema/scalars.ts';
import '../../api/graphql/schema/permission-fields.ts';
import { once } from '../../platform/once.ts';
import './features.ts';

/** Returns the whole GraphQL schema, which is built at the first call. */
export const buildSchema = once((): GraphQLSchema => withArgumentErrors(builder.toSchema()));

/** Returns a schema in SDL, with types and fields sorted by name, as in `schema.graphql`. */
export const printSDL = (schema: GraphQLSchema): string => `${printSchema(lexicographicSortSchema(schema))}\n`;
