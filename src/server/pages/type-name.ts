import type { Schema } from '../../api/rest/openapi.ts';

/**
 * Returns a JSON Schema in a short form for readers: `list of integer`, `"a" | "b"`, `{to: list of integer, topic: string}`.
 */
export function typeName(schema: Schema): string {
  const members = schema.anyOf ?? schema.oneOf;
  if (members !== undefined) return members.map(typeName).join(' | ');
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.prefixItems !== undefined) return `[${schema.prefixItems.map(typeName).join(', ')}]`;
  if (schema.type === 'array') return typeof schema.items === 'object' ? `list of ${typeName(schema.items)}` : 'list';
  if (schema.properties !== undefined) {
    const required = new Set(schema.required);
    const fields = Object.entries(schema.properties);
    return `{${fields.map(([name, inner]) => `${name}${required.has(name) ? '' : '?'}: ${typeName(inner)}`).join(', ')}}`;
  }
  return [schema.type ?? 'any'].flat().join(' | ');
}
