import { ValidationError } from '../../../platform/errors.ts';

/**
 * Checks that a client does not send an argument or input field together with a deprecated one that it replaces.
 *
 * @param isGiven Whether the client gave the member `name`.
 * @param former Values of the deprecated members, by their names in the schema. Null is the same as absent.
 * @throws ValidationError for the first deprecated member that has a value.
 */
export function refuseBoth(name: string, isGiven: boolean, former: Readonly<Record<string, unknown>>): void {
  const [parameter] = Object.keys(former).filter((member) => former[member] != null);
  if (!isGiven || parameter === undefined) return;
  throw new ValidationError(`"${parameter}" is deprecated and cannot be combined with "${name}".`, { parameter });
}

/**
 * Returns the value of an argument or input field that is required, but nullable in the schema because a deprecated one can
 * stand in for it.
 *
 * @throws ValidationError if the value is null or absent.
 */
export function requireMember<V>(name: string, value: V): NonNullable<V> {
  if (value == null) throw new ValidationError(`"${name}" is required.`, { parameter: name });
  return value;
}
