import { type GraphQLError, type GraphQLResolveInfo, getArgumentValues, locatedError } from 'graphql';
import type { GraphQLContext } from '../context.ts';
import type { ForAll } from '../together.ts';
import type { FieldPlan, ObjectPlan, Shape, Variables } from './compile.ts';
import { Ways } from './steps.ts';

type Target = Record<string, unknown>;
type Path = GraphQLResolveInfo['path'];

/** What is the same for all fields of one execution. */
export interface Execution {
  readonly context: GraphQLContext;
  /** As coerced. */
  readonly variables: Variables;
  readonly root: unknown;
  /** What resolvers that ask for it are told of the operation. */
  readonly operation: Pick<GraphQLResolveInfo, 'schema' | 'fragments' | 'operation'>;
}

/** What came of a query. */
export interface Answer {
  readonly data: Target | null;
  readonly errors: readonly GraphQLError[];
}

/**
 * Executes a plan, a field at a time for all the objects it is asked of: one wait for all of them, where the general
 * executor has one for each.
 *
 * Values, nulls and errors are as the specification of GraphQL has them.
 *
 * @see https://spec.graphql.org/October2021/#sec-Execution
 */
export async function executePlan(plan: ObjectPlan, execution: Execution): Promise<Answer> {
  const run = new Run(plan, execution);
  await run.fields(plan, { sources: [execution.root], targets: [run.data], paths: [undefined] });
  return { data: run.isVoid ? null : run.data, errors: run.errors };
}

/** Objects of one type: what they are read from, what is made of them, and where they stand if somebody is to be told. */
interface Objects {
  readonly sources: unknown[];
  readonly targets: Target[];
  /** Empty where nobody is told. */
  readonly paths: (Path | undefined)[];
}

/** In place of a value: what its resolver threw. */
class Failure extends Error {
  constructor(cause: unknown) {
    super('A resolver failed', { cause });
  }
}

/** What a value cannot be completed for. */
class Fault extends Error {
  /** At which places of the lists that it is in. */
  within: readonly number[] | undefined;

  constructor(cause: unknown) {
    super('A value could not be completed', { cause });
  }
}

/** Where a value goes. */
interface Slot {
  readonly plan: FieldPlan;
  readonly target: Target;
  /** The objects that are found among the values. */
  readonly next: Objects;
}

class Run {
  readonly #execution: Execution;
  readonly #ways: Ways;
  readonly data: Target;
  readonly errors: GraphQLError[] = [];
  /** Whether a null went up to the top. */
  isVoid = false;

  constructor(plan: ObjectPlan, execution: Execution) {
    this.#execution = execution;
    this.data = { ...plan.blank };
    this.#ways = new Ways(plan, this.data);
  }

  /** @returns What is to be waited for, where anything is; it is never rejected. */
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
      if (values.length !== objects.sources.length) throw new Error(`${nameOf(plan)} is not known of all objects`);
    } catch (error) {
      values = objects.sources.map(() => new Failure(error));
    }
    return this.#complete(plan, values, objects);
  }

  /** What the resolver returns for each object. */
  #resolve({ field, args: fixed, isTold, nodes, key, parent }: FieldPlan, { sources, paths }: Objects): unknown[] {
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
        } else if (isTold) {
          const path = { prev: paths[i], key, typename: parent.name };
          values[i] = resolve(source, args, context, this.#told(parent, field, nodes, path));
        } else {
          values[i] = (resolve as (...told: unknown[]) => unknown)(source, args, context);
        }
      } catch (error) {
        values[i] = new Failure(error);
      }
    }
    return values;
  }

  #told(
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

  /** Puts the values where they belong, and goes on with the objects among them. */
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
        this.#tell(plan, target, fault);
        target[key] = null;
        if (!shape.isNullable) this.#void(target);
      }
    }
    if (below === undefined || next.sources.length === 0) return undefined;
    this.#ways.extended();
    return this.fields(below, next);
  }

  /** @throws Fault, or what the type's own serialization throws, where its type does not have the value. */
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
        this.#tell(slot.plan, slot.target, fault);
      }
    }
    return items;
  }

  /** Of what is not in the answer any more, there is nothing to tell. */
  #tell({ nodes, key }: FieldPlan, target: Target, { cause, within = [] }: Fault): void {
    const steps = this.#ways.to(target);
    if (steps === undefined || this.isVoid) return;
    this.errors.push(locatedError(cause, nodes, [...steps.map((step) => step.key), key, ...within]));
  }

  /** Has null in the place of an object, or of the nearest around it that may be null. */
  #void(target: Target): void {
    const steps = this.#ways.to(target);
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

/** Whether a value, or an item of it, is a promise. */
function isToCome(shape: Shape, value: unknown): boolean {
  if (isPromise(value)) return true;
  // What can be gone through once alone, such as a generator, is not looked into beforehand.
  if (shape.kind !== 'list' || !(Array.isArray(value) || value instanceof Set)) return false;
  for (const item of value) if (isToCome(shape.item, item)) return true;
  return false;
}

/** A value without promises in it; Failures in their place where they were rejected. */
async function whenCome(shape: Shape, value: unknown): Promise<unknown> {
  try {
    const come = await value;
    if (shape.kind !== 'list' || !isToCome(shape, come)) return come;
    return await Promise.all(Array.from(come as Iterable<unknown>, (item) => whenCome(shape.item, item)));
  } catch (error) {
    return new Failure(error);
  }
}
