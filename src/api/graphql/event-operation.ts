import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import type { Logger } from 'pino';
import { type EventPiece, keepResult, keptResult } from '../../events/rendering.ts';
import type { GraphQLContext } from './context.ts';
import { fromEventOf } from './entity-facts.ts';
import { presentError } from './errors.ts';
import { eventSchemaOf, isAllKnown, type Selecting } from './event-schema.ts';
import { eventTypeName } from './event-types.ts';
import { isOutOfReach } from './read-back.ts';
import { rootField } from './root-field.ts';

/** Which operation of a document runs, and with what. */
export interface Run {
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  /** For the faults of event fields, which clients are not told. */
  readonly log: Logger;
}

/**
 * What a subscription makes of each event. All readers with the same document and variables, but for which queue they
 * read and from where, share one of these, and so one execution and one serialisation per rendering of an event that knows
 * all that is asked of it. Which events do is decided once for each type of them.
 */
export class EventOperation {
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #operationName: string | undefined;
  readonly #variables: Run['variables'];
  readonly #log: Logger;
  readonly #selecting: Selecting;
  /** Of the event. */
  readonly #selection: SelectionSetNode | undefined;
  /** By the event's type, and by what it knows of its entities. */
  readonly #isAllKnown = new Map<string, boolean>();

  constructor(schema: GraphQLSchema, document: DocumentNode, { operationName, variables, log }: Run) {
    this.#schema = schema;
    this.#document = document;
    this.#operationName = operationName;
    this.#variables = variables;
    this.#log = log;
    const operation = getOperationAST(document, operationName);
    const { coerced } = getVariableValues(schema, operation?.variableDefinitions ?? [], variables);
    const isFragment = (definition: { kind: Kind }): definition is FragmentDefinitionNode =>
      definition.kind === Kind.FRAGMENT_DEFINITION;
    const fragments = new Map(document.definitions.filter(isFragment).map((part) => [part.name.value, part]));
    this.#selecting = { schema, fragments, variables: coerced ?? {} };
    this.#selection = operation == null ? undefined : rootField(document, operation).selectionSet;
  }

  /** Whether an event knows all that is asked of it: its result, which is made then, is the same for all who hear it alike. */
  isShared(piece: EventPiece): boolean {
    if (keptResult(piece, this) !== undefined) return true;
    try {
      return this.#isAnswered(piece);
    } catch (err) {
      // A bug: thrown on, it would end every stream that asks so, again with each attempt to come back.
      this.#log.error({ err, event: piece.id, type: piece.event.type }, 'what an event knows could not be worked out');
      return false;
    }
  }

  #isAnswered(piece: EventPiece): boolean {
    const type = this.#schema.getType(eventTypeName(piece.event.type, piece.event.op) ?? '');
    if (!isObjectType(type) || this.#selection === undefined) return this.#share(piece) !== undefined;
    const knowing = Object.values(type.getFields()).map(
      ({ extensions }) => fromEventOf(extensions)?.factsIn(piece).key,
    );
    const key = `${type.name} ${knowing.join()}`;
    let known = this.#isAllKnown.get(key);
    if (known === undefined) {
      known = isAllKnown(this.#selecting, this.#selection, type, piece);
      this.#isAllKnown.set(key, known);
    }
    if (!known) return false;
    if (this.#share(piece) !== undefined) return true;
    this.#isAllKnown.set(key, false);
    return false;
  }

  /** Makes the result from the event alone. Undefined where it does not come of that: a bug, which must not stop anybody. */
  #share(piece: EventPiece): Buffer | undefined {
    // No context: what an event's fields show comes from the event alone, whoever reads it.
    const result = execute({ ...this.#run(piece), schema: eventSchemaOf(this.#schema) });
    const err = result instanceof Promise ? new Error('A field resolved asynchronously') : result.errors?.[0];
    if (err !== undefined) {
      if (result instanceof Promise) result.catch(() => {});
      this.#log.error({ err, event: piece.id, type: piece.event.type }, 'an event did not answer what it knows');
      return undefined;
    }
    const bytes = this.#toBytes(piece, result as ExecutionResult);
    keepResult(piece, this, bytes);
    return bytes;
  }

  /**
   * The execution result for one event that is shared, as JSON in UTF-8. Its `extensions.position` is the event's id,
   * whatever of the event was selected and under whatever names.
   */
  sharedResultOf(piece: EventPiece): Buffer {
    // It may have been let go of since it was made, or be more than is kept.
    const known = keptResult(piece, this) ?? this.#share(piece);
    if (known === undefined) throw new Error('The event is not shared');
    return known;
  }

  /**
   * The execution result for one reader, with their rights, as JSON in UTF-8.
   *
   * @throws What keeps the database from being read: half an event is none, and can be had later.
   */
  async ownResultOf(piece: EventPiece, contextValue: GraphQLContext): Promise<Buffer> {
    const result = await execute({ ...this.#run(piece), schema: this.#schema, contextValue });
    const failure = result.errors?.find(({ originalError }) => isOutOfReach(originalError));
    if (failure !== undefined) throw failure.originalError ?? failure;
    return this.#toBytes(piece, result);
  }

  #run(rootValue: EventPiece) {
    return {
      document: this.#document,
      operationName: this.#operationName,
      variableValues: this.#variables,
      rootValue,
    };
  }

  #toBytes({ id }: EventPiece, result: ExecutionResult): Buffer {
    const errors = result.errors?.map((error: GraphQLError) => presentError(error, this.#log));
    return Buffer.from(
      JSON.stringify({ ...result, ...(errors !== undefined && { errors }), extensions: { position: id } }),
    );
  }
}
