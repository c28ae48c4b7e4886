import type { FieldPlan, ObjectPlan, Shape } from './compile.ts';

/** One step of the path to an object in a response: a key of an object, or an index of a list. */
export interface Step {
  /** The object or list that contains the value under `key`. */
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
  /** Whether the value can be null according to its type. */
  readonly isNullable: boolean;
}

/** The path to an object in a response from its parent object. A path has several steps if lists are in between. */
interface Way {
  readonly from: object;
  readonly steps: readonly Step[];
}

/**
 * Finds the paths to the objects of a response, which errors need. The paths are computed after the first error, so that
 * executions without errors store none. One pass computes the paths of all objects, so that a thousand errors of one field need
 * one pass.
 */
export class Ways {
  readonly #plan: ObjectPlan;
  readonly #data: object;
  readonly #known = new Map<object, Way>();
  #isComplete = false;

  constructor(plan: ObjectPlan, data: object) {
    this.#plan = plan;
    this.#data = data;
  }

  /** Must be called after objects were added to the response. The next unknown path is then searched again. */
  extended(): void {
    this.#isComplete = false;
  }

  /** Returns the path to an object; undefined if it was removed from the response because an ancestor became null. */
  to(wanted: object): Step[] | undefined {
    const steps: Step[] = [];
    for (let at = wanted; at !== this.#data; ) {
      const way = this.#wayTo(at);
      if (way === undefined || !leadsTo(way.steps, at)) return undefined;
      steps.unshift(...way.steps);
      at = way.from;
    }
    return steps;
  }

  #wayTo(wanted: object): Way | undefined {
    const known = this.#known.get(wanted);
    if (known !== undefined || this.#isComplete) return known;
    this.#look(this.#plan, this.#data);
    this.#isComplete = true;
    return this.#known.get(wanted);
  }

  #look(plan: ObjectPlan, from: object): void {
    const holder = from as Step['holder'];
    for (const field of plan.fields)
      this.#lookInto(field, field.shape, { holder, key: field.key }, { from, steps: [] });
  }

  #lookInto(field: FieldPlan, shape: Shape, { holder, key }: Pick<Step, 'holder' | 'key'>, { from, steps }: Way): void {
    const value = holder[key];
    if (typeof value !== 'object' || value === null || field.below === undefined) return;
    const way = { from, steps: [...steps, { holder, key, isNullable: shape.isNullable }] };
    if (shape.kind !== 'list') {
      this.#known.set(value, way);
      this.#look(field.below, value);
      return;
    }
    const list = value as unknown[] & Step['holder'];
    for (let i = 0; i < list.length; i++) this.#lookInto(field, shape.item, { holder: list, key: i }, way);
  }
}

/** Whether each step still leads to the next. A step does not if its object was replaced by null. */
const leadsTo = (steps: readonly Step[], end: object): boolean =>
  steps.every(({ holder, key }, i) => holder[key] === (steps[i + 1]?.holder ?? end));
