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
import { type EventPiece, keepResult, keptResult } from '../../../events/rendering.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { presentError } from '../schema/errors.ts';
import { projectionOptionsOf } from '../schema/event-projections.ts';
import { eventTypeName } from '../schema/event-types.ts';
import { isOutOfReach } from '../schema/read-back.ts';
import { rootField } from '../schema/root-field.ts';
import { eventSchemaOf, isAllKnown, type Selecting } from './event-schema.ts';

/** The operation of a document to run, with its variables. */
export interface Run {
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Receives the errors of event projections, which clients do not receive. */
  readonly log: Logger;
}

/**
 * The operation that a subscription executes for each event. Subscriptions share one instance if their documents are equal, and
 * so are their variables except queue and position.
 *
 * If an event projection (the data in the event itself) covers the whole selection, the operation is executed and serialized
 * once, and all readers with the same rendering of the event receive these bytes. Otherwise it is executed for each reader.
 */
export class EventOperation {
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #operationName: string | undefined;
  readonly #variables: Run['variables'];
  readonly #log: Logger;
  readonly #selecting: Selecting;
  /** The fields that the operation selects on the event. Undefined if the document does not contain the operation. */
  readonly #selection: SelectionSetNode | undefined;
  /** Whether the event projections cover the selection, cached by event type and keys of the projections. */
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
   * Whether the event projections cover the selection, so that all readers of this rendering receive the same result. If true,
   * that result has been computed and cached.
   */
  isShared(piece: EventPiece): boolean {
    if (keptResult(piece, this) !== undefined) return true;
    try {
      return this.#isAnswered(piece);
    } catch (err) {
      // Any error here is a bug. It is not rethrown, because it would end every stream with this operation, and again after
      // each reconnect.
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

  /**
   * Executes the operation on the event alone, without a reader, and caches the result. Returns undefined if that fails, which
   * is a bug but must not end a stream.
   */
  #share(piece: EventPiece): Buffer | undefined {
    // No context is passed, because the fields of an event depend only on the event, not on the reader.
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
   * Executes the operation for one reader, with the rights of that reader.
   *
   * @returns The execution result, as JSON in UTF-8.
   * @throws The error of a read that failed because the database is unavailable or the row was deleted. No incomplete result is
   *   returned, because a retry can succeed.
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
