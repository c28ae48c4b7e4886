import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  type DocumentNode,
  defaultFieldResolver,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLLeafType,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLScalarType,
  type GraphQLSchema,
  isLeafType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { isLeftOut, isOf } from '../documents/cost.ts';
import { EventProjection, ProjectedEntity, projectionOptionsOf } from '../schema/event-projections.ts';
import { ReaderSlot, type ReaderSource } from '../schema/reader-values.ts';
import { shownIds } from '../schema/refs.ts';

/**
 * Returns a variant of the schema, for results that all recipients of an event share. Its resolvers read entities from event
 * projections, and never from the database.
 */
export function eventSchemaOf(schema: GraphQLSchema): GraphQLSchema {
  let made = schemas.get(schema);
  if (made === undefined) {
    made = makeEventSchema(schema);
    schemas.set(schema, made);
  }
  return made;
}

const schemas = new WeakMap<GraphQLSchema, GraphQLSchema>();

function makeEventSchema(schema: GraphQLSchema): GraphQLSchema {
  const made = mapSchema(schema, {
    // `isTypeOf` is removed, because the event projection determines the type of an entity.
    [MapperKind.OBJECT_TYPE]: (type) => new GraphQLObjectType({ ...type.toConfig(), isTypeOf: null }),
    [MapperKind.OBJECT_FIELD]: (field, name) => {
      const { resolve, extensions } = field;
      const options = projectionOptionsOf(extensions);
      if (options !== undefined) return { ...field, resolve: options.known };
      return {
        ...field,
        resolve: (source, args, ctx, info) =>
          source instanceof ProjectedEntity
            ? shownIds(extensions, source.answer(name, args))
            : (resolve ?? defaultFieldResolver)(source, args, ctx, info),
      };
    },
  });
  letSlotsThrough(made);
  return made;
}

/**
 * Changes the types of reader fields so that they accept slots (placeholders for values of a reader). The execution result then
 * contains the slots, not serialized values.
 */
function letSlotsThrough(schema: GraphQLSchema): void {
  for (const projection of EventProjection.all) {
    const type = schema.getType(projection.typename);
    if (!isObjectType(type)) continue;
    for (const [name, field] of Object.entries(type.getFields())) {
      if (projection.isReaderField(name)) field.type = typeWithSlots(field.type);
    }
  }
}

const withSlots = new Map<GraphQLLeafType, GraphQLScalarType>();

function typeWithSlots(type: GraphQLOutputType): GraphQLOutputType {
  if (isNonNullType(type)) return new GraphQLNonNull(typeWithSlots(type.ofType));
  if (!isLeafType(type)) throw new Error(`A reader field has the type ${String(type)}, which has fields`);
  let made = withSlots.get(type);
  if (made === undefined) {
    // Execution uses nothing else of a type. The values of an enum are its names.
    made = new GraphQLScalarType({
      name: type.name,
      serialize: (value) => (value instanceof ReaderSlot ? value : type.serialize(value)),
    });
    // A type that is used by several projections is changed only once.
    withSlots.set(type, made).set(made, made);
  }
  return made;
}

/** The schema, fragments and variables that determine the fields of a selection. */
export interface Selecting {
  readonly schema: GraphQLSchema;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly variables: { readonly [variable: string]: unknown };
}

/**
 * Returns the sources of the selected reader fields, if the projections of an event contain all selected fields, at any depth.
 * Undefined if they do not. Empty if the result is the same for all recipients.
 *
 * @param selection The selection on the event itself.
 * @param source The value from which the fields of the event are resolved.
 */
export function sourcesOfKnown(
  selecting: Selecting,
  selection: SelectionSetNode,
  eventType: GraphQLObjectType,
  source: unknown,
): ReadonlySet<ReaderSource<unknown>> | undefined {
  const fields = eventType.getFields();
  const sources = new Set<ReaderSource<unknown>>();
  const isAllKnown = fieldsOf(selecting, selection, eventType).every(({ name, selectionSet }) => {
    const projection = projectionOptionsOf(fields[name.value]?.extensions)?.projectionOf(source);
    return projection === undefined || isKnown(selecting, selectionSet, projection, sources);
  });
  return isAllKnown ? sources : undefined;
}

function isKnown(
  selecting: Selecting,
  selection: SelectionSetNode | undefined,
  projection: EventProjection,
  sources: Set<ReaderSource<unknown>>,
): boolean {
  const type = selecting.schema.getType(projection.typename);
  if (selection === undefined || !isObjectType(type)) return false;
  return fieldsOf(selecting, selection, type).every(({ name, selectionSet }) => {
    if (!projection.has(name.value)) return false;
    const source = projection.sourceOf(name.value);
    if (source !== undefined) sources.add(source);
    const behind = projection.behind(name.value);
    return behind === undefined || isKnown(selecting, selectionSet, behind, sources);
  });
}

/** Returns the sources of the reader fields that a document selects on any event whose projections contain them. */
export function sourcesIn(schema: GraphQLSchema, document: DocumentNode): ReadonlySet<ReaderSource<unknown>> {
  const sources = new Set<ReaderSource<unknown>>();
  const types = new TypeInfo(schema);
  const Field = ({ name }: FieldNode) => {
    const typename = types.getParentType()?.name;
    for (const projection of EventProjection.all) {
      const source = projection.typename === typename ? projection.sourceOf(name.value) : undefined;
      if (source !== undefined) sources.add(source);
    }
  };
  visit(document, visitWithTypeInfo(types, { Field }));
  return sources;
}

/** Returns the fields that are selected on an object of the type, including those in fragments. */
function fieldsOf(selecting: Selecting, { selections }: SelectionSetNode, type: GraphQLObjectType): FieldNode[] {
  return selections.flatMap((selection) => {
    if (isLeftOut(selection, selecting.variables)) return [];
    if (selection.kind === Kind.FIELD) return [selection];
    const part = selection.kind === Kind.FRAGMENT_SPREAD ? selecting.fragments.get(selection.name.value) : selection;
    if (part === undefined || !isOf(selecting.schema, part.typeCondition?.name.value, type)) return [];
    return fieldsOf(selecting, part.selectionSet, type);
  });
}
