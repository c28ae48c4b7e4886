import {
  BREAK,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  getNullableType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { shareOfHeap } from '../../../platform/memory.ts';
import { LongWork } from '../../../platform/time-slices.ts';
import { isLeftOut } from './cost.ts';
import { type SelectedFields, selectedFields } from './selected-fields.ts';

type Variables = Readonly<Record<string, unknown>>;
type Data = Record<string, unknown>;

/** The definitions of the root fields for introspection, by field name. */
const META_FIELDS: Readonly<Record<string, GraphQLField<unknown, unknown>>> = {
  __schema: SchemaMetaFieldDef,
  __type: TypeMetaFieldDef,
};

export const isIntrospectionField = (name: string): boolean => Object.hasOwn(META_FIELDS, name);

/**
 * Number of fields in an introspection result that count as one request against the budget. The introspection query of GraphiQL
 * counts as about 30 requests.
 */
const FIELDS_PER_REQUEST = 5_000;

/**
 * Maximum number of fields in an introspection result: five times the result that a tool needs to read the whole schema. An
 * operation beyond it is refused with a GraphQL error.
 */
export const MAX_INTROSPECTED_FIELDS = 600_000;

const introspecting = new WeakMap<DocumentNode, boolean>();

/** Returns whether any operation of a document contains introspection. */
export function introspects(document: DocumentNode): boolean {
  const known = introspecting.get(document);
  if (known !== undefined) return known;
  let found = false;
  visit(document, {
    Field({ name }) {
      if (!isIntrospectionField(name.value)) return undefined;
      found = true;
      return BREAK;
    },
  });
  introspecting.set(document, found);
  return found;
}

/** Returns the introspection fields among the root fields of an operation. */
function introspectionIn(fields: SelectedFields): (readonly FieldNode[])[] {
  return [...fields.values()].filter(([field]) => isIntrospectionField(field?.name.value ?? ''));
}

/** Returns whether a document contains introspection below the root, where GraphQL does not define it. */
export function introspectsBelowRoot(document: DocumentNode): boolean {
  const fragments = fragmentsOf(document);
  const seen = new Set<string>();
  const finds = ({ selections }: SelectionSetNode, isBelow: boolean): boolean =>
    selections.some((selection) => {
      if (selection.kind === Kind.FIELD) {
        if (isBelow && isIntrospectionField(selection.name.value)) return true;
        return selection.selectionSet !== undefined && finds(selection.selectionSet, true);
      }
      if (selection.kind === Kind.INLINE_FRAGMENT) return finds(selection.selectionSet, isBelow);
      const key = `${selection.name.value} ${isBelow}`;
      const fragment = fragments.get(selection.name.value);
      if (fragment === undefined || seen.has(key)) return false;
      seen.add(key);
      return finds(fragment.selectionSet, isBelow);
    });
  return document.definitions.some(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION && finds(definition.selectionSet, false),
  );
}

const fragmentsOf = (document: DocumentNode): ReadonlyMap<string, FragmentDefinitionNode> =>
  new Map(
    document.definitions.flatMap((node) => (node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [])),
  );

/** The size of the introspection result of an operation, estimated from the document before it is executed. */
export interface IntrospectionSize {
  readonly fields: number;
  /** Number of requests that the introspection counts as: 0 if the operation contains none. */
  readonly requests: number;
}

/**
 * Estimates the size of the introspection result of an operation. Each `__schema` and `__type` under its own alias counts as at
 * least one request.
 *
 * @param variables Coerced values.
 */
export function introspectionSize(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operation, selectionSet }: OperationDefinitionNode,
  variables: Variables,
): IntrospectionSize {
  if (operation !== OperationTypeNode.QUERY) return { fields: 0, requests: 0 };
  const estimate = new Estimate(lengthsOf(schema), fragmentsOf(document), variables);
  const sizes = introspectionIn(selectedFields(document, variables, [selectionSet])).map((nodes) =>
    nodes.reduce((sum, node) => sum + estimate.root(node), 0),
  );
  return {
    fields: sizes.reduce((sum, size) => sum + size, 0),
    requests: sizes.reduce((sum, size) => sum + Math.max(1, Math.ceil(size / FIELDS_PER_REQUEST)), 0),
  };
}

/** Numbers of items in the lists of introspection results, by field name. */
interface Lengths {
  /** Average number of items in the list over all types of the schema. */
  readonly mean: Readonly<Record<string, number>>;
  /** Maximum number of items in the list over all types of the schema. */
  readonly longest: Readonly<Record<string, number>>;
}

const lengths = new WeakMap<GraphQLSchema, Lengths>();

function lengthsOf(schema: GraphQLSchema): Lengths {
  const known = lengths.get(schema);
  if (known !== undefined) return known;
  const types = Object.values(schema.getTypeMap());
  const fieldsOf = types.map((type) =>
    isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [],
  );
  const ofTypes = {
    fields: fieldsOf.map((fields) => fields.length),
    interfaces: types.map((type) => (isObjectType(type) || isInterfaceType(type) ? type.getInterfaces().length : 0)),
    possibleTypes: types.map((type) => (isAbstractType(type) ? schema.getPossibleTypes(type).length : 0)),
    enumValues: types.map((type) => (isEnumType(type) ? type.getValues().length : 0)),
    inputFields: types.map((type) => (isInputObjectType(type) ? Object.keys(type.getFields()).length : 0)),
  };
  const mean = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const ofSchema = {
    types: types.length,
    directives: schema.getDirectives().length,
    args: mean(fieldsOf.flat().map(({ args }) => args.length)),
  };
  const each = (of: (counts: readonly number[]) => number) =>
    Object.fromEntries(Object.entries(ofTypes).map(([name, counts]) => [name, of(counts)]));
  const made = {
    mean: { ...ofSchema, ...each(mean) },
    longest: { ...ofSchema, ...each((counts) => Math.max(...counts)) },
  };
  lengths.set(schema, made);
  return made;
}

class Estimate {
  readonly #lengths: Lengths;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Variables;
  /** Estimated sizes of selections. The size of a fragment is estimated once, however often it is spread. */
  readonly #known = { mean: new Map<SelectionSetNode, number>(), longest: new Map<SelectionSetNode, number>() };

  constructor(lengths: Lengths, fragments: ReadonlyMap<string, FragmentDefinitionNode>, variables: Variables) {
    this.#lengths = lengths;
    this.#fragments = fragments;
    this.#variables = variables;
  }

  /**
   * Estimates the number of fields in the value of a root field. A list directly below the root field counts with its maximum
   * length, because `__type` can select any type. Deeper lists count with their average length.
   */
  root({ selectionSet }: FieldNode): number {
    return this.#selections(selectionSet, 'longest');
  }

  #selections(set: SelectionSetNode | undefined, kind: keyof Lengths): number {
    if (set === undefined) return 0;
    let size = this.#known[kind].get(set);
    if (size === undefined) {
      size = set.selections.reduce((sum, selection) => sum + this.#selection(selection, kind), 0);
      this.#known[kind].set(set, size);
    }
    return size;
  }

  #selection(selection: SelectionNode, kind: keyof Lengths): number {
    if (isLeftOut(selection, this.#variables)) return 0;
    if (selection.kind === Kind.FIELD) {
      const { name, selectionSet } = selection;
      return 1 + this.#selections(selectionSet, 'mean') * (this.#lengths[kind][name.value] ?? 1);
    }
    const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : this.#fragments.get(selection.name.value);
    return this.#selections(fragment?.selectionSet, kind);
  }
}

/** The value of an introspection field, and its size. */
interface Introspected {
  readonly value: unknown;
  /** Number of fields in the value, including nested fields. */
  readonly size: number;
}

/**
 * Maximum total number of fields in cached results. Beyond it, the results that were used least recently are dropped. On
 * average, a field takes only 64 bytes (measured), because equal parts of a result share one object.
 */
const KEPT_FIELDS = shareOfHeap(1 / 32, 32 * 1024 * 1024) / 64;

const keptBySchema = new WeakMap<GraphQLSchema, LRUCache<string, Introspected>>();

/** The error for an introspection whose result exceeds `MAX_INTROSPECTED_FIELDS`. */
export class TooMuchIntrospection extends Error {}

/** An operation with introspection, split into the introspection fields and the other fields. */
export interface IntrospectionParts {
  /** Names of all root fields in the response, in order. */
  readonly names: readonly string[];
  /** Values of the introspection fields, by response name. */
  readonly values: ReadonlyMap<string, unknown>;
  /** The document without the introspection fields of the operation. Undefined if the operation has no other fields. */
  readonly rest: DocumentNode | undefined;
}

/**
 * Computes the values of the introspection fields of an operation. The values are cached by selection, for all requests. A long
 * value is computed in time slices, so that the computation does not block the event loop.
 *
 * @param variables Coerced values.
 * @returns The values, and a document with the other fields. Undefined if the operation contains no introspection, or if an
 *   argument of an introspection field is invalid.
 * @throws TooMuchIntrospection if the values contain more than `MAX_INTROSPECTED_FIELDS` fields.
 */
export async function introspect(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): Promise<IntrospectionParts | undefined> {
  const fields = selectedFields(document, variables, [operation.selectionSet]);
  if (introspectionIn(fields).length === 0) return undefined;
  const values = new Map<string, unknown>();
  const others: FieldNode[] = [];
  let size = 0;
  for (const [name, nodes] of fields) {
    const meta = META_FIELDS[nodes[0]?.name.value ?? ''];
    if (meta === undefined) others.push(...nodes);
    else {
      const introspected = await answerOf(schema, document, { meta, nodes, variables });
      if (introspected === undefined) return undefined;
      size += introspected.size;
      if (size > MAX_INTROSPECTED_FIELDS) throw new TooMuchIntrospection();
      values.set(name, introspected.value);
    }
  }
  return {
    names: [...fields.keys()],
    values,
    rest: others.length === 0 ? undefined : without(document, operation, others),
  };
}

function without(document: DocumentNode, operation: OperationDefinitionNode, selections: FieldNode[]): DocumentNode {
  const rest = { ...operation, selectionSet: { ...operation.selectionSet, selections } };
  return { ...document, definitions: document.definitions.map((node) => (node === operation ? rest : node)) };
}

interface Asked {
  readonly meta: GraphQLField<unknown, unknown>;
  readonly nodes: readonly FieldNode[];
  readonly variables: Variables;
}

async function answerOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  { meta, nodes, variables }: Asked,
): Promise<Introspected | undefined> {
  const plan = planOf({ document, variables }, meta, nodes);
  if (plan === undefined) return undefined;
  const kept =
    keptBySchema.get(schema) ?? new LRUCache({ maxSize: KEPT_FIELDS, sizeCalculation: ({ size }) => size + 1 });
  keptBySchema.set(schema, kept);
  const known = kept.get(plan.key);
  if (known !== undefined) return known;
  const made = await new Answering(schema).root(plan);
  kept.set(plan.key, made);
  return made;
}

/** An introspection field with coerced arguments and expanded fragments. */
interface FieldPlan {
  /** The field, its arguments and its selection, as text. Two fields with the same text have the same result. */
  readonly key: string;
  readonly name: string;
  readonly resolve: NonNullable<GraphQLField<unknown, unknown>['resolve']>;
  readonly args: Variables;
  readonly isList: boolean;
  /** Plan for the objects in the value of the field. Undefined for a scalar or an enum. */
  readonly inner: ObjectPlan | undefined;
}

interface ObjectPlan {
  readonly fields: readonly FieldPlan[];
  /** Results that were already computed, by object. A type occurs many times in a result, but is computed only once. */
  readonly known: Map<unknown, Introspected>;
}

interface Source {
  readonly document: DocumentNode;
  readonly variables: Variables;
}

/** Returns the plan of a field; undefined if an argument is invalid. In this case, graphql-js reports the error. */
function planOf(
  source: Source,
  field: GraphQLField<unknown, unknown>,
  nodes: readonly FieldNode[],
): FieldPlan | undefined {
  const [node] = nodes;
  if (node === undefined || field.resolve === undefined) return undefined;
  const args = argumentsOf(field, node, source.variables);
  const type = getNamedType(field.type);
  const inner = isLeafType(type) ? undefined : objectPlan(source, type as GraphQLObjectType, nodes);
  if (args === undefined || (inner === undefined && !isLeafType(type))) return undefined;
  return {
    key: `${field.name}${JSON.stringify(args)}${inner === undefined ? '' : `{${inner.fields.map((f) => `${f.name}:${f.key}`).join(' ')}}`}`,
    name: (node.alias ?? node.name).value,
    ...{ resolve: field.resolve, args, inner, isList: isListType(getNullableType(field.type)) },
  };
}

function argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode, variables: Variables) {
  try {
    return getArgumentValues(field, node, variables);
  } catch {
    return undefined;
  }
}

function objectPlan(source: Source, type: GraphQLObjectType, nodes: readonly FieldNode[]): ObjectPlan | undefined {
  const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
  const selected = selectedFields(source.document, source.variables, sets);
  const definitions: Record<string, GraphQLField<unknown, unknown>> = {
    ...type.getFields(),
    __typename: typeName(type),
  };
  const fields = [...selected.values()].map((same) => {
    const definition = definitions[same[0]?.name.value ?? ''];
    return definition && planOf(source, definition, same);
  });
  return fields.includes(undefined) ? undefined : { fields: fields as FieldPlan[], known: new Map() };
}

/** Returns `__typename` as a field of one type. Its value is constant, because no type of introspection is abstract. */
const typeName = ({ name }: GraphQLObjectType): GraphQLField<unknown, unknown> => ({
  ...TypeNameMetaFieldDef,
  resolve: () => name,
});

class Answering {
  /** The only part of `info` that introspection resolvers read. */
  readonly #info: GraphQLResolveInfo;

  constructor(schema: GraphQLSchema) {
    this.#info = { schema } as GraphQLResolveInfo;
  }

  /**
   * Computes the value of a root field. Yields to the event loop between the items of the lists directly below the root field.
   */
  async root(plan: FieldPlan): Promise<Introspected> {
    const source = this.#valueOf(plan, undefined);
    if (plan.inner === undefined || source == null) return { value: null, size: 1 };
    const work = new LongWork();
    const value: Data = {};
    let size = 1;
    for (const field of plan.inner.fields) {
      const { inner } = field;
      const items = inner !== undefined && field.isList ? this.#valueOf(field, source) : undefined;
      if (inner !== undefined && items != null) {
        for (const item of items as readonly unknown[]) {
          await work.pause();
          this.#object(inner, item);
        }
      }
      // The items of the list were computed above, so `#field` takes their results from `known`.
      const made = this.#field(field, source);
      value[field.name] = made.value;
      size = bounded(size + made.size);
    }
    return { value, size };
  }

  #valueOf({ resolve, args }: FieldPlan, source: unknown): unknown {
    return resolve(source, args, undefined, this.#info);
  }

  #field(plan: FieldPlan, source: unknown): Introspected {
    const { isList, inner } = plan;
    const value = this.#valueOf(plan, source);
    if (inner === undefined || value == null) return { value: value ?? null, size: 1 };
    if (!isList) return this.#object(inner, value);
    const items = (value as readonly unknown[]).map((item) => this.#object(inner, item));
    return {
      value: items.map((item) => item.value),
      size: bounded(items.reduce((sum, { size }) => sum + size, 1)),
    };
  }

  #object(plan: ObjectPlan, source: unknown): Introspected {
    const known = plan.known.get(source);
    if (known !== undefined) return known;
    const fields = plan.fields.map((field) => ({ name: field.name, ...this.#field(field, source) }));
    const made = {
      value: Object.fromEntries(fields.map(({ name, value }) => [name, value])),
      size: bounded(fields.reduce((sum, { size }) => sum + size, 1)),
    };
    plan.known.set(source, made);
    return made;
  }
}

/** Returns the number of fields unchanged. @throws TooMuchIntrospection if the number exceeds `MAX_INTROSPECTED_FIELDS`. */
function bounded(size: number): number {
  if (size > MAX_INTROSPECTED_FIELDS) throw new TooMuchIntrospection();
  return size;
}
