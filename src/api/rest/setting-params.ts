import { z } from 'zod';
import type { Setting } from '../../platform/setting.ts';
import { json, type Param, text } from './params.ts';

/** The parameters that say who is to hold each of several permissions. @param type One that JSON is read by. */
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

/** The parameter that changes a setting: a text is sent as it is, all else as JSON, and no limit as "unlimited". */
export function settingParam(setting: Setting<unknown>): Param<unknown, 'optional'> {
  const { type, initial, unlimited, meaning, names } = setting;
  const said = [meaning, names === undefined ? undefined : '-1 is none', valuesSaid(setting)];
  const details = { description: `${said.filter((part) => part !== undefined).join('; ')}.` };
  if (unlimited !== undefined) return json(limit, { ...details, example: '"unlimited"' }).optional();
  return (typeof initial === 'string' ? text(type, details) : json(type, details)).optional();
}

/** What each value of a closed set is, where the values do not say it themselves. */
function valuesSaid({ type, choices }: Setting<unknown>): string | undefined {
  const taken = Object.entries(choices?.values ?? {}).filter(([, [value]]) => type.safeParse(value).success);
  if (taken.every(([name, [value]]) => value === name.toLowerCase())) return undefined;
  return taken.map(([name, [value]]) => `${value} ${name.toLowerCase().replaceAll('_', ' ')}`).join(', ');
}
