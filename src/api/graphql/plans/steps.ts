import type { FieldPlan, ObjectPlan, Shape } from './compile.ts';

/** A step of the path to an object in a response. */
export interface Step {
  /** The object or list that contains the next one. */
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
  /** Whether null is allowed in this place. */
  readonly isNullable: boolean;
}

/** The path to an object from its parent object. */
interface Way {
  readonly from: object;
  readonly steps: readonly Step[];
}

/**
 * The paths to the objects of a response. They are computed only after an error, so that executions without errors store none.
 * The paths are computed in one pass, so that a thousand errors of one field need one pass.
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

  /** Marks the paths as incomplete after objects were added. */
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

/** Whether the steps still lead to the same object. */
const leadsTo = (steps: readonly Step[], end: object): boolean =>
  steps.every(({ holder, key }, i) => holder[key] === (steps[i + 1]?.holder ?? end));
