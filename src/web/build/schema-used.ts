import {
  type DocumentNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  isAbstractType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';

/** A type reference of an introspection result. */
interface TypeReference {
  readonly kind: string;
  readonly name?: string;
  readonly ofType?: TypeReference;
}

/**
 * Returns the part of a schema that the cache needs, as an introspection result. The part consists of the types that the
 * documents can return, with their selected fields, interfaces and possible types. The whole schema is 50 times as large.
 */
export function schemaUsedBy(documents: DocumentNode, schema: GraphQLSchema) {
  const used = fieldsUsedBy(documents, schema);
  for (const type of [...used.keys()]) {
    if (isAbstractType(type)) for (const possible of schema.getPossibleTypes(type)) touch(used, possible);
  }
  for (const type of [...used.keys()]) {
    if (isObjectType(type)) for (const one of type.getInterfaces()) touch(used, one);
  }
  const nameOf = (type: GraphQLNamedType | null | undefined) => (type ? { name: type.name } : null);
  return {
    __schema: {
      queryType: nameOf(schema.getQueryType()),
      mutationType: nameOf(schema.getMutationType()),
      subscriptionType: nameOf(schema.getSubscriptionType()),
      types: [...used].map(([type, fields]) => describe(type, fields, schema)),
    },
  };
}

type Used = Map<GraphQLNamedType, Set<GraphQLField<unknown, unknown>>>;

function touch(used: Used, type: GraphQLNamedType): Set<GraphQLField<unknown, unknown>> {
  const fields = used.get(type) ?? new Set();
  used.set(type, fields);
  return fields;
}

function fieldsUsedBy(documents: DocumentNode, schema: GraphQLSchema): Used {
  const used: Used = new Map();
  const info = new TypeInfo(schema);
  visit(
    documents,
    visitWithTypeInfo(info, {
      Field() {
        const [parent, field] = [info.getParentType(), info.getFieldDef()];
        if (!parent || !field || field.name.startsWith('__')) return;
        touch(used, parent).add(field);
        const type = getNamedType(field.type);
        if (isObjectType(type) || isAbstractType(type)) touch(used, type);
      },
    }),
  );
  return used;
}

function describe(type: GraphQLNamedType, used: ReadonlySet<GraphQLField<unknown, unknown>>, schema: GraphQLSchema) {
  const fields = [...used].map((field) => ({ name: field.name, args: [], type: referenceTo(field.type) }));
  const possibleTypes = () =>
    isAbstractType(type) ? schema.getPossibleTypes(type).map(({ name }) => ({ kind: 'OBJECT', name })) : [];
  if (isObjectType(type)) {
    const interfaces = type.getInterfaces().map(({ name }) => ({ kind: 'INTERFACE', name }));
    return { kind: 'OBJECT', name: type.name, fields, interfaces };
  }
  if (isInterfaceType(type)) {
    return { kind: 'INTERFACE', name: type.name, fields, interfaces: [], possibleTypes: possibleTypes() };
  }
  return { kind: 'UNION', name: type.name, possibleTypes: possibleTypes() };
}

function referenceTo(type: GraphQLType): TypeReference {
  if (isNonNullType(type)) return { kind: 'NON_NULL', ofType: referenceTo(type.ofType) };
  if (isListType(type)) return { kind: 'LIST', ofType: referenceTo(type.ofType) };
  const kind = isObjectType(type)
    ? 'OBJECT'
    : isInterfaceType(type)
      ? 'INTERFACE'
      : isAbstractType(type)
        ? 'UNION'
        : 'SCALAR';
  return { kind, name: type.name };
}
