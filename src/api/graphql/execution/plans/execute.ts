import { type GraphQLError, type GraphQLResolveInfo, getArgumentValues, locatedError } from 'graphql';
import type { ForAll } from '../../loading/batch-resolvers.ts';
import type { GraphQLContext } from '../../loading/context.ts';
import type { FieldPlan, ObjectPlan, Shape, Variables } from './compile.ts';
import { ResponsePaths } from './steps.ts';

type Target = Record<string, unknown>;
type Path = GraphQLResolveInfo['path'];

/** The state that all fields of one execution share. */
export interface Execution {
  readonly context: GraphQLContext;
  /** Values of the operation's variables, coerced to the declared types. */
  readonly variables: Variables;
  readonly root: unknown;
  /** The parts of `info` that all resolvers of the execution share. */
  readonly operation: Pick<GraphQLResolveInfo, 'schema' | 'fragments' | 'operation'>;
}

/** The result of a query that was executed by a plan. */
export interface PlanResult {
  readonly data: Target | null;
  readonly errors: readonly GraphQLError[];
}

/**
 * Executes a plan field by field. Each field is resolved for all objects in one batch, with one `await`. graphql-js needs one
 * `await` per object.
 *
 * Values, nulls and errors follow the GraphQL specification.
 *
 * @see https://spec.graphql.org/October2021/#sec-Execution
 */
export async function executePlan(plan: ObjectPlan, execution: Execution): Promise<PlanResult> {
  const run = new Run(plan, execution);
  await run.fields(plan, { sources: [execution.root], targets: [run.data], paths: [undefined] });
  return { data: run.isVoid ? null : run.data, errors: run.errors };
}

/**
 * Objects of one type whose fields a plan resolves in one batch. The arrays are parallel: the values that resolvers receive,
 * the objects in the response, and the paths of these objects.
 */
interface Objects {
  readonly sources: unknown[];
  readonly targets: Target[];
  /** Paths of the objects in the response. Empty if no resolver uses its path. */
  readonly paths: (Path | undefined)[];
}

/** A placeholder for the value of a resolver that threw an error. `cause` is that error. */
class Failure extends Error {
  constructor(cause: unknown) {
    super('A resolver failed', { cause });
  }
}

/** The error for a value that does not match the type of its field. The error in `cause` is reported to the client. */
class Fault extends Error {
  /** Indexes that lead to the value through the lists that contain it, outermost list first. */
  within: readonly number[] | undefined;

  constructor(cause: unknown) {
    super('A value could not be completed', { cause });
  }
}

/** The location of a value in the response: the field of `plan` in the object `target`. */
interface Slot {
  readonly plan: FieldPlan;
  readonly target: Target;
  /** Receives the values that are objects. Their fields are executed next. */
  readonly next: Objects;
}

class Run {
  readonly #execution: Execution;
  readonly #paths: ResponsePaths;
  readonly data: Target;
  readonly errors: GraphQLError[] = [];
  /** Whether the data of the whole result is null, because an error propagated to the root. */
  isVoid = false;

  constructor(plan: ObjectPlan, execution: Execution) {
    this.#execution = execution;
    this.data = { ...plan.blank };
    this.#paths = new ResponsePaths(plan, this.data);
  }

  /**
   * Executes the fields of a plan for objects of the plan's type.
   *
   * @returns A promise that resolves when all pending fields are complete, and never rejects. Undefined if no field is pending.
   */
  fields({ type, fields }: ObjectPlan, objects: Objects): Promise<unknown> | undefined {
    const waits: Promise<unknown>[] = [];
    for (const field of fields) {
      const wait = field.isTypename ? name(objects, field.key, type.name) : this.#field(field, objects);
      if (wait !== undefined) waits.push(wait);
    }
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  #field(plan: FieldPlan, objects: Objects): Promise<unknown> | undefined {
    const { shape, forAll } = plan;
    if (forAll !== undefined) return this.#readForAll(forAll, plan, objects);
    const values = this.#resolve(plan, objects);
    if (!values.some((value) => isToCome(shape, value))) return this.#complete(plan, values, objects);
    const awaited = values.map((value) => whenCome(shape, value));
    return Promise.all(awaited).then((come) => this.#complete(plan, come, objects));
  }

  async #readForAll(forAll: ForAll<unknown, unknown>, plan: FieldPlan, objects: Objects): Promise<unknown> {
    let values: readonly unknown[];
    try {
      values = await forAll(objects.sources, this.#execution.context);
      if (values.length !== objects.sources.length)
        throw new Error(`${nameOf(plan)} did not return one value for each object`);
    } catch (error) {
      values = objects.sources.map(() => new Failure(error));
    }
    return this.#complete(plan, values, objects);
  }

  /**
   * Calls the resolver for each object, and returns the results in order. Results can be promises. If the resolver throws an
   * error, the result is a `Failure`.
   */
  #resolve({ field, args: fixed, takesInfo, nodes, key, parent }: FieldPlan, { sources, paths }: Objects): unknown[] {
    const { context, variables } = this.#execution;
    const { resolve, name } = field;
    let args: Record<string, unknown>;
    try {
      args = fixed ?? getArgumentValues(field, nodes[0], variables);
    } catch (error) {
      return sources.map(() => new Failure(error));
    }
    const values = new Array<unknown>(sources.length);
    for (let i = 0; i < sources.length; i++) {
      const source = sources[i] as Target;
      try {
        if (resolve === undefined) {
          const value = source?.[name];
          values[i] = typeof value === 'function' ? value.call(source, args, context) : value;
        } else if (takesInfo) {
          const path = { prev: paths[i], key, typename: parent.name };
          values[i] = resolve(source, args, context, this.#infoOf(parent, field, nodes, path));
        } else {
          values[i] = (resolve as (...args: unknown[]) => unknown)(source, args, context);
        }
      } catch (error) {
        values[i] = new Failure(error);
      }
    }
    return values;
  }

  #infoOf(
    parentType: FieldPlan['parent'],
    { name, type }: FieldPlan['field'],
    fieldNodes: FieldPlan['nodes'],
    path: Path,
  ): GraphQLResolveInfo {
    const { variables, root, operation } = this.#execution;
    return {
      ...operation,
      ...{ fieldName: name, fieldNodes, returnType: type, parentType, path },
      rootValue: root,
      variableValues: variables as Target,
    };
  }

  /** Writes the completed values of a field to the response. If values are objects, executes their fields next. */
  #complete(plan: FieldPlan, values: readonly unknown[], { targets, paths }: Objects): Promise<unknown> | undefined {
    const { key, shape, parent, below } = plan;
    const next: Objects = { sources: [], targets: [], paths: [] };
    for (let i = 0; i < values.length; i++) {
      const target = targets[i] as Target;
      const path = below?.isPlaced ? { prev: paths[i], key, typename: parent.name } : undefined;
      try {
        target[key] = this.#value(shape, values[i], { plan, target, next }, path);
      } catch (error) {
        const fault = asFault(error);
        this.#report(plan, target, fault);
        target[key] = null;
        if (!shape.isNullable) this.#void(target);
      }
    }
    if (below === undefined || next.sources.length === 0) return undefined;
    this.#paths.extended();
    return this.fields(below, next);
  }

  /**
   * Converts the value that a resolver returned to the value in the response.
   *
   * @throws Fault, or an error of the type's own serialization, if the value does not match the type.
   */
  #value(shape: Shape, value: unknown, slot: Slot, path: Path | undefined, within: readonly number[] = []): unknown {
    if (value === null || value === undefined) {
      if (shape.isNullable) return null;
      throw new Fault(new Error(`Cannot return null for non-nullable field ${nameOf(slot.plan)}.`));
    }
    if (value instanceof Error) throw new Fault(value instanceof Failure ? value.cause : value);
    if (shape.kind === 'leaf') return serialized(shape, value);
    if (shape.kind === 'list') return this.#list(shape.item, value, slot, path, within);
    const target: Target = { ...slot.plan.below?.blank };
    slot.next.sources.push(value);
    slot.next.targets.push(target);
    if (path !== undefined) slot.next.paths.push(path);
    return target;
  }

  #list(shape: Shape, list: unknown, slot: Slot, path: Path | undefined, within: readonly number[]): unknown[] {
    if (!isIterable(list)) {
      throw new Fault(new Error(`Expected Iterable, but did not find one for field "${nameOf(slot.plan)}".`));
    }
    const items: unknown[] = [];
    for (const item of list) {
      const i = items.length;
      const at = path && { prev: path, key: i, typename: undefined };
      try {
        items.push(this.#value(shape, item, slot, at, shape.kind === 'list' ? [...within, i] : within));
      } catch (error) {
        const fault = asFault(error);
        fault.within ??= [...within, i];
        if (!shape.isNullable) throw fault;
        items.push(null);
        this.#report(slot.plan, slot.target, fault);
      }
    }
    return items;
  }

  /** Adds an error to the result, unless an earlier error has removed its location from the response. */
  #report({ nodes, key }: FieldPlan, target: Target, { cause, within = [] }: Fault): void {
    const steps = this.#paths.to(target);
    if (steps === undefined || this.isVoid) return;
    this.errors.push(locatedError(cause, nodes, [...steps.map((step) => step.key), key, ...within]));
  }

  /**
   * Removes an object from the response. The object itself becomes null if it is nullable, otherwise its nearest nullable
   * ancestor.
   */
  #void(target: Target): void {
    const steps = this.#paths.to(target);
    if (steps === undefined) return;
    const nearest = steps.findLast(({ isNullable }) => isNullable);
    if (nearest === undefined) this.isVoid = true;
    else nearest.holder[nearest.key] = null;
  }
}

function name({ targets }: Objects, key: string, typename: string): undefined {
  for (const target of targets) target[key] = typename;
}

const nameOf = ({ parent, field }: FieldPlan): string => `${parent.name}.${field.name}`;

const asFault = (error: unknown): Fault => (error instanceof Fault ? error : new Fault(error));

function serialized({ type }: Extract<Shape, { kind: 'leaf' }>, value: unknown): unknown {
  const written = type.serialize(value);
  if (written != null) return written;
  throw new Error(`Expected \`${type.name}.serialize\` to return a value, returned: ${String(written)}`);
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value;

/** Returns whether a value is a promise, or is a list with a promise among its items. */
function isToCome(shape: Shape, value: unknown): boolean {
  if (isPromise(value)) return true;
  // Iterables that can be consumed only once, such as generators, are not inspected.
  if (shape.kind !== 'list' || !(Array.isArray(value) || value instanceof Set)) return false;
  for (const item of value) if (isToCome(shape.item, item)) return true;
  return false;
}

/** Resolves the promises in a value. A rejected promise is replaced by a Failure. */
async function whenCome(shape: Shape, value: unknown): Promise<unknown> {
  try {
    const come = await value;
    if (shape.kind !== 'list' || !isToCome(shape, come)) return come;
    return await Promise.all(Array.from(come as Iterable<unknown>, (item) => whenCome(shape.item, item)));
  } catch (error) {
    return new Failure(error);
  }
}
