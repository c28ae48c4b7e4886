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
import { isLeftOut, isOf } from './cost.ts';
import { type EntityFacts, fromEventOf, KnownEntity } from './entity-facts.ts';
import { shownIds } from './refs.ts';

/**
 * The schema that events are shown by to all who hear them alike: entities are what the event knows of them, and nothing
 * of it reads the database.
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
    // What an event knows is of the type that its facts say.
    [MapperKind.OBJECT_TYPE]: (type) => new GraphQLObjectType({ ...type.toConfig(), isTypeOf: null }),
    [MapperKind.OBJECT_FIELD]: (field, name) => {
      const { resolve, extensions } = field;
      const told = fromEventOf(extensions);
      if (told !== undefined) return { ...field, resolve: told.known };
      return {
        ...field,
        resolve: (source, args, ctx, info) =>
          source instanceof KnownEntity
            ? shownIds(extensions, source.answer(name, args))
            : (resolve ?? defaultFieldResolver)(source, args, ctx, info),
      };
    },
  });
}

/** A document, and all that decides which of its fields are asked for. */
export interface Selecting {
  readonly schema: GraphQLSchema;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly variables: { readonly [variable: string]: unknown };
}

/**
 * Whether an event knows all that a selection asks of it.
 *
 * @param selection Of the event itself.
 * @param source What the event's fields are resolved from.
 */
export function isAllKnown(
  selecting: Selecting,
  selection: SelectionSetNode,
  eventType: GraphQLObjectType,
  source: unknown,
): boolean {
  const fields = eventType.getFields();
  return fieldsOf(selecting, selection, eventType).every(({ name, selectionSet }) => {
    const told = fromEventOf(fields[name.value]?.extensions);
    return told === undefined || isKnown(selecting, selectionSet, told.factsIn(source));
  });
}

function isKnown(selecting: Selecting, selection: SelectionSetNode | undefined, facts: EntityFacts): boolean {
  const type = selecting.schema.getType(facts.typename);
  if (selection === undefined || !isObjectType(type)) return false;
  return fieldsOf(selecting, selection, type).every(({ name, selectionSet }) => {
    if (!facts.has(name.value)) return false;
    const behind = facts.behind(name.value);
    return behind === undefined || isKnown(selecting, selectionSet, behind);
  });
}

/** The fields that a selection asks of an object of the type, wherever they stand. */
function fieldsOf(selecting: Selecting, { selections }: SelectionSetNode, type: GraphQLObjectType): FieldNode[] {
  return selections.flatMap((selection) => {
    if (isLeftOut(selection, selecting.variables)) return [];
    if (selection.kind === Kind.FIELD) return [selection];
    const part = selection.kind === Kind.FRAGMENT_SPREAD ? selecting.fragments.get(selection.name.value) : selection;
    if (part === undefined || !isOf(selecting.schema, part.typeCondition?.name.value, type)) return [];
    return fieldsOf(selecting, part.selectionSet, type);
  });
}
