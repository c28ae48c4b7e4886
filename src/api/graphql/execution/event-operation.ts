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
import { type EventPiece, forgetResult, inOwnMemory, keepResult, keptResult } from '../../../events/rendering.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { presentError } from '../schema/errors.ts';
import { projectionOptionsOf } from '../schema/event-projections.ts';
import { type EventSource, eventTypeName } from '../schema/event-types.ts';
import { isOutOfReach } from '../schema/read-back.ts';
import type { EventReader, ReaderSource } from '../schema/reader-values.ts';
import { rootField } from '../schema/root-field.ts';
import { eventSchemaOf, type Selecting, sourcesIn, sourcesOfKnown } from './event-schema.ts';
import { type FilledResult, ReaderResults, ResultTemplate } from './reader-results.ts';

/** The name of the operation to execute, its variables, and the log for its errors. */
export interface Run {
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  /** The log for errors of event projections (the fields that an event alone provides), which clients do not receive. */
  readonly log: Logger;
}

const NONE: ReadonlySet<never> = new Set();

/**
 * The operation that a subscription executes for each event. Subscriptions share one instance if their documents and variables
 * are equal. The variables that contain the id of the event queue and the position in the event log are not compared.
 *
 * If an event projection contains all selected fields, the operation is executed and serialized once. All recipients for whom
 * the event is rendered equally then receive the same bytes. If some of these fields differ between recipients (reader fields,
 * such as unread counts), only their values are filled in for each recipient. If a field is not in the event projection, the
 * operation is executed for each recipient.
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
  /**
   * Sources of the selected reader fields (fields whose values differ between recipients), by event type and keys of the
   * projections. Undefined if the event projections do not contain all selected fields.
   */
  readonly #sources = new Map<string, ReadonlySet<ReaderSource<unknown>> | undefined>();

  #allSources: ReadonlySet<ReaderSource<unknown>> | undefined;

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
   * Returns the result for one recipient, if it can be computed without reading the database.
   *
   * @returns `shared` if all recipients receive the same result, which `sharedResultOf` returns. A result of this recipient if
   *   the operation selects reader fields. Undefined if the operation must be executed for the recipient, or their state must
   *   be loaded first.
   */
  readyResultOf(piece: EventPiece, reader: EventReader): FilledResult | 'shared' | undefined {
    const answer = this.#answerTo(piece);
    if (!(answer instanceof ReaderResults)) return answer && 'shared';
    const state = answer.source.current(reader, piece);
    if (state === undefined) return undefined;
    const shape = answer.source.shapeOf(state, piece);
    const template = answer.template(shape) ?? this.#makeTemplate(piece, answer, { shape, state });
    return template?.fill(state);
  }

  /** Sources of the reader fields that the operation can select. */
  get readerSources(): ReadonlySet<ReaderSource<unknown>> {
    this.#allSources ??= sourcesIn(this.#schema, this.#document);
    return this.#allSources;
  }

  /**
   * Loads the state of a recipient, from which the values of reader fields are computed.
   *
   * @returns False if the result for the event needs no such state, because it contains no reader fields or the operation must
   *   be executed for each recipient.
   */
  async load(piece: EventPiece, reader: EventReader): Promise<boolean> {
    const answer = this.#answerTo(piece);
    if (!(answer instanceof ReaderResults)) return false;
    await answer.source.load(reader, piece);
    return true;
  }

  /**
   * Returns the result that all recipients share, or the results that differ only in reader fields. Both are computed without
   * reading the event's entities. Undefined if the operation must be executed for each recipient.
   */
  #answerTo(piece: EventPiece): Buffer | ReaderResults | undefined {
    const kept = keptResult<Buffer | ReaderResults>(piece, this);
    if (kept !== undefined) return kept;
    try {
      return this.#makeAnswer(piece);
    } catch (err) {
      // Any error here is a bug. The error is logged and not rethrown: it would end every stream with this operation, and again
      // after each reconnect.
      this.#log.error({ err, event: piece.id, type: piece.event.type }, 'event projection failed');
      return undefined;
    }
  }

  #makeAnswer(piece: EventPiece): Buffer | ReaderResults | undefined {
    const key = this.#keyOf(piece);
    const sources = key === undefined ? NONE : this.#sourcesFor(piece, key);
    const [source, another] = sources ?? [];
    if (sources === undefined || another !== undefined) return undefined;
    const made = source === undefined ? this.#share(piece) : new ReaderResults(source);
    if (made === undefined) this.#refuse(piece);
    else keepResult(piece, this, made);
    return made;
  }

  /** Returns the event type and the keys of the projections of the event's entities. Undefined if nothing can be selected. */
  #keyOf(piece: EventPiece): string | undefined {
    const type = this.#schema.getType(eventTypeName(piece.event.type, piece.event.op) ?? '');
    if (!isObjectType(type) || this.#selection === undefined) return undefined;
    const projectionKeys = Object.values(type.getFields()).map(
      ({ extensions }) => projectionOptionsOf(extensions)?.projectionOf(piece)?.key,
    );
    return `${type.name} ${projectionKeys.join()}`;
  }

  #sourcesFor(piece: EventPiece, key: string): ReadonlySet<ReaderSource<unknown>> | undefined {
    const type = this.#schema.getType(key.slice(0, key.indexOf(' ')));
    if (!this.#sources.has(key) && isObjectType(type) && this.#selection !== undefined)
      this.#sources.set(key, sourcesOfKnown(this.#selecting, this.#selection, type, piece));
    return this.#sources.get(key);
  }

  /** Executes the operation for each recipient of such events from now on, because a projection has failed. */
  #refuse(piece: EventPiece): void {
    const key = this.#keyOf(piece);
    if (key !== undefined) this.#sources.set(key, undefined);
    forgetResult(piece, this);
  }

  /**
   * Executes the operation on the event alone, without a viewer. Returns undefined if the execution fails. A failure is a bug,
   * but must not end a stream.
   *
   * @param source The event, and the state of a reader if the operation selects reader fields.
   */
  #executeOn(source: EventSource): ExecutionResult | undefined {
    // No context is passed, because the fields of an event depend only on the event, not on the viewer.
    const result = execute({ ...this.#run(source), schema: eventSchemaOf(this.#schema) });
    const err = result instanceof Promise ? new Error('A field resolved asynchronously') : result.errors?.[0];
    if (err === undefined) return result as ExecutionResult;
    if (result instanceof Promise) result.catch(() => {});
    this.#log.error({ err, event: source.id, type: source.event.type }, 'event projection execution failed');
    return undefined;
  }

  #share(piece: EventPiece): Buffer | undefined {
    const result = this.#executeOn(piece);
    return result && inOwnMemory(this.#toBytes(piece, result));
  }

  #makeTemplate(
    piece: EventPiece,
    results: ReaderResults,
    { shape, state }: { readonly shape: string; readonly state: unknown },
  ): ResultTemplate | undefined {
    const { id, event, facts, actorId } = piece;
    const result = this.#executeOn({ id, event, facts, actorId, reader: state });
    if (result === undefined) {
      this.#refuse(piece);
      return undefined;
    }
    const template = new ResultTemplate({ ...result, extensions: { position: id } });
    keepResult(piece, this, results.with(shape, template));
    return template;
  }

  /**
   * Returns the shared execution result for an event, as JSON in UTF-8. Its `extensions.position` is the event's id,
   * whatever fields and aliases are selected. `readyResultOf` must have returned `shared` for the event before.
   */
  sharedResultOf(piece: EventPiece): Buffer {
    // The result may have been evicted from the cache since it was created, or may be too large for the cache.
    const answer = this.#answerTo(piece);
    if (answer === undefined || answer instanceof ReaderResults) throw new Error('The event has no shared result');
    return answer;
  }

  /**
   * Executes the operation for one recipient of the event, with the rights of that user.
   *
   * @returns The execution result, as JSON in UTF-8.
   * @throws The error of a read that failed because the database is unavailable or a row was deleted. No incomplete result is
   *   returned, because a retry can succeed.
   */
  async ownResultOf(piece: EventPiece, contextValue: GraphQLContext): Promise<Buffer> {
    const result = await execute({ ...this.#run(piece), schema: this.#schema, contextValue });
    const failure = result.errors?.find(({ originalError }) => isOutOfReach(originalError));
    if (failure !== undefined) throw failure.originalError ?? failure;
    return this.#toBytes(piece, result);
  }

  #run(rootValue: EventSource) {
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
