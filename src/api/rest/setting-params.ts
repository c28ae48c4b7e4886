import { z } from 'zod';
import { noEffect, type Setting } from '../../platform/setting.ts';
import { json, type Param, text } from './params.ts';

/**
 * Declares the parameters that set the holders of permissions: one parameter for each permission.
 *
 * @param meanings Description of each permission, by parameter name.
 * @param type Type of the JSON values.
 */
export function permissionParams<N extends string, S extends z.ZodType>(
  meanings: Readonly<Record<N, string>>,
  type: S,
): Record<N, Param<z.output<S>, 'optional'>> {
  const params = Object.entries<string>(meanings).map(([name, description]) => [
    name,
    json(type, { description }).optional(),
  ]);
  return Object.fromEntries(params) as Record<N, Param<z.output<S>, 'optional'>>;
}

const limit = z.union([z.int(), z.literal('unlimited')]);

/**
 * Declares the parameter that changes a setting. Strings are sent as text, other values as JSON. If the setting can be
 * unlimited, the value "unlimited" removes the limit.
 */
export function settingParam(setting: Setting<unknown>): Param<unknown, 'optional'> {
  const { type, initial, unlimited, meaning, names, hasNoEffect } = setting;
  const none = names === undefined ? undefined : '-1 for none';
  const said = [meaning, none, valuesSaid(setting), hasNoEffect === undefined ? undefined : noEffect(hasNoEffect)];
  const details = { description: `${said.filter((part) => part !== undefined).join('; ')}.` };
  if (unlimited !== undefined) return json(limit, { ...details, example: '"unlimited"' }).optional();
  return (typeof initial === 'string' ? text(type, details) : json(type, details)).optional();
}

/**
 * Returns the meaning of each value of a setting, such as `1 everyone, 2 admins only`. Undefined if the values are not a closed
 * set, or if each value equals its name.
 */
function valuesSaid({ type, choices }: Setting<unknown>): string | undefined {
  const taken = Object.entries(choices?.values ?? {}).filter(([, [value]]) => type.safeParse(value).success);
  if (taken.every(([name, [value]]) => value === name.toLowerCase())) return undefined;
  return taken.map(([name, [value]]) => `${value} ${name.toLowerCase().replaceAll('_', ' ')}`).join(', ');
}
