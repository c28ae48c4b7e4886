import { z } from 'zod';
import type { Setting } from '../../platform/setting.ts';
import { json, type Param, text } from './params.ts';

const limit = z.union([z.int(), z.literal('unlimited')]);

/** The parameter that changes a setting: a text is sent as it is, all else as JSON, and no limit as "unlimited". */
export function settingParam({ type, initial, unlimited, meaning }: Setting<unknown>): Param<unknown, 'optional'> {
  const details = meaning === undefined ? {} : { description: `${meaning}.` };
  if (unlimited !== undefined) return json(limit, { example: '"unlimited"' }).optional();
  return (typeof initial === 'string' ? text(type, details) : json(type, details)).optional();
}
