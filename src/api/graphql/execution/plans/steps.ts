import type { FieldPlan, ObjectPlan, Shape } from './compile.ts';

/** One step of the path to an object in a response: a key of an object, or an index of a list. */
export interface Step {
  /** The object or list that contains the value under `key`. */
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
  /** Whether the type of the value allows null. */
  readonly isNullable: boolean;
}

/** The part of a path that leads from an object to another object below it. It has several steps if lists are in between. */
interface Section {
  readonly from: object;
  readonly steps: readonly Step[];
}

/**
 * The paths of the objects in a response, for the `path` of errors. The paths are computed after the first error, so that
 * executions without errors store no paths. One pass over the response computes the paths of all objects. A thousand errors of
 * one field therefore take only one pass.
 */
export class ResponsePaths {
  readonly #plan: ObjectPlan;
  readonly #data: object;
  readonly #known = new Map<object, Section>();
  #isComplete = false;

  constructor(plan: ObjectPlan, data: object) {
    this.#plan = plan;
    this.#data = data;
  }

  /** Marks the computed paths as incomplete. Must be called after objects were added to the response. */
  extended(): void {
    this.#isComplete = false;
  }

  /** Returns the path to an object; undefined if the object is no longer in the response, because an ancestor became null. */
  to(wanted: object): Step[] | undefined {
    const steps: Step[] = [];
    for (let at = wanted; at !== this.#data; ) {
      const section = this.#sectionTo(at);
      if (section === undefined || !leadsTo(section.steps, at)) return undefined;
      steps.unshift(...section.steps);
      at = section.from;
    }
    return steps;
  }

  #sectionTo(wanted: object): Section | undefined {
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

  #lookInto(
    field: FieldPlan,
    shape: Shape,
    { holder, key }: Pick<Step, 'holder' | 'key'>,
    { from, steps }: Section,
  ): void {
    const value = holder[key];
    if (typeof value !== 'object' || value === null || field.below === undefined) return;
    const section = { from, steps: [...steps, { holder, key, isNullable: shape.isNullable }] };
    if (shape.kind !== 'list') {
      this.#known.set(value, section);
      this.#look(field.below, value);
      return;
    }
    const list = value as unknown[] & Step['holder'];
    for (let i = 0; i < list.length; i++) this.#lookInto(field, shape.item, { holder: list, key: i }, section);
  }
}

/** Returns whether each step still leads to the next one. False if the object of a step was replaced by null. */
const leadsTo = (steps: readonly Step[], end: object): boolean =>
  steps.every(({ holder, key }, i) => holder[key] === (steps[i + 1]?.holder ?? end));
