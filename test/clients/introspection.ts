import { readFileSync } from 'node:fs';
import { buildSchema, type IntrospectionQuery, introspectionFromSchema } from 'graphql';

/** The introspection result of the published schema, which an application gets from its build. */
export const introspected: IntrospectionQuery = introspectionFromSchema(
  buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')),
);
