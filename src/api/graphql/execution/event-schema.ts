import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLObjectType,
  type GraphQLSchema,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { isLeftOut, isOf } from '../documents/cost.ts';
import { type EventProjection, ProjectedEntity, projectionOptionsOf } from '../schema/event-projections.ts';
import { shownIds } from '../schema/refs.ts';

/**
 * Returns a variant of the schema, for results that all readers of an event share. Its resolvers read entities from event
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
  return mapSchema(schema, {
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
}

/** Everything that determines which fields a selection contains: schema, fragments and variables. */
export interface Selecting {
  readonly schema: GraphQLSchema;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly variables: { readonly [variable: string]: unknown };
}

/**
 * Whether the projections of an event contain all fields that a selection selects, at any depth.
 *
 * @param selection The selection on the event itself.
 * @param source The value from which the fields of the event are resolved.
 */
export function isAllKnown(
  selecting: Selecting,
  selection: SelectionSetNode,
  eventType: GraphQLObjectType,
  source: unknown,
): boolean {
  const fields = eventType.getFields();
  return fieldsOf(selecting, selection, eventType).every(({ name, selectionSet }) => {
    const options = projectionOptionsOf(fields[name.value]?.extensions);
    return options === undefined || isKnown(selecting, selectionSet, options.projectionOf(source));
  });
}

function isKnown(selecting: Selecting, selection: SelectionSetNode | undefined, facts: EventProjection): boolean {
  const type = selecting.schema.getType(facts.typename);
  if (selection === undefined || !isObjectType(type)) return false;
  return fieldsOf(selecting, selection, type).every(({ name, selectionSet }) => {
    if (!facts.has(name.value)) return false;
    const behind = facts.behind(name.value);
    return behind === undefined || isKnown(selecting, selectionSet, behind);
  });
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
