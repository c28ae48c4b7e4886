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
import { presentError } from './errors.ts';
import { projectionOptionsOf } from './event-projections.ts';
import { eventSchemaOf, isAllKnown, type Selecting } from './event-schema.ts';
import { eventTypeName } from './event-types.ts';
import { isOutOfReach } from './read-back.ts';
import { rootField } from './root-field.ts';

/** The operation of a document to run, with its variables. */
export interface Run {
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  /** For errors in event fields, which are not sent to clients. */
  readonly log: Logger;
}

/**
 * The operation that a subscription executes for each event. Readers whose document and variables are equal, except for
 * queue and position, share one instance. If the event projection covers the whole selection, the operation is executed and
 * serialized once per rendering. Coverage is determined once per event type.
 */
export class EventOperation {
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #operationName: string | undefined;
  readonly #variables: Run['variables'];
  readonly #log: Logger;
  readonly #selecting: Selecting;
  /** The selection on the event. */
  readonly #selection: SelectionSetNode | undefined;
  /** Whether the projections cover the selection, by event type and keys of the projections. */
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

  /**
   * Whether the event projection covers the selection. If so, the result is created here. It is the same for all readers of
   * this rendering.
   */
  isShared(piece: EventPiece): boolean {
    if (keptResult(piece, this) !== undefined) return true;
    try {
      return this.#isAnswered(piece);
    } catch (err) {
      // The error is a bug. If it were rethrown, it would end every stream with this operation, and again after each reconnect.
      this.#log.error({ err, event: piece.id, type: piece.event.type }, 'event projection failed');
      return false;
    }
  }

  #isAnswered(piece: EventPiece): boolean {
    const type = this.#schema.getType(eventTypeName(piece.event.type, piece.event.op) ?? '');
    if (!isObjectType(type) || this.#selection === undefined) return this.#share(piece) !== undefined;
    const knowing = Object.values(type.getFields()).map(
      ({ extensions }) => projectionOptionsOf(extensions)?.projectionOf(piece).key,
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

  /** Executes the operation on the event alone. Returns undefined if that fails: a bug, which must not stop any stream. */
  #share(piece: EventPiece): Buffer | undefined {
    // There is no context, because the fields of an event depend only on the event, not on the reader.
    const result = execute({ ...this.#run(piece), schema: eventSchemaOf(this.#schema) });
    const err = result instanceof Promise ? new Error('A field resolved asynchronously') : result.errors?.[0];
    if (err !== undefined) {
      if (result instanceof Promise) result.catch(() => {});
      this.#log.error({ err, event: piece.id, type: piece.event.type }, 'event projection execution failed');
      return undefined;
    }
    const bytes = this.#toBytes(piece, result as ExecutionResult);
    keepResult(piece, this, bytes);
    return bytes;
  }

  /**
   * Returns the shared execution result for an event, as JSON in UTF-8. Its `extensions.position` is the event's id,
   * whatever fields and aliases are selected.
   */
  sharedResultOf(piece: EventPiece): Buffer {
    // The result may have been evicted since it was created, or be too large for the cache.
    const known = keptResult(piece, this) ?? this.#share(piece);
    if (known === undefined) throw new Error('The event has no shared result');
    return known;
  }

  /**
   * Executes the operation for one reader, with that reader's rights.
   *
   * @returns The execution result, as JSON in UTF-8.
   * @throws The read error if the database is unavailable or a row was deleted. Incomplete events are not sent, because a
   *   retry can succeed.
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
