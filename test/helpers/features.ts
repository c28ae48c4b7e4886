import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FeatureTests } from './feature.ts';

const FOLDER = join(import.meta.dirname, '../features');

/**
 * Features whose calls run before those of all others, in this order. They create objects that other calls need: a channel with
 * a name that later calls use, and subscribers of the default channel.
 */
const FIRST = ['channels', 'subscriptions', 'users'];

/**
 * Features whose calls run after those of all others, in this order, because they remove or change objects that other calls
 * need: emoji after reactions, messages after edits, archived channels last.
 */
const LAST = [
  ...['profile-fields', 'custom-emoji', 'message-edits', 'settings', 'user-defaults', 'organization', 'bots'],
  ...['deactivation', 'channel-archive'],
];

/** Reads the declaration of a feature: the only value that its file exports. */
async function read(name: string): Promise<FeatureTests> {
  const [declared, ...others] = Object.values<FeatureTests>(await import(join(FOLDER, `${name}.ts`)));
  if (declared === undefined || others.length > 0) throw new Error(`test/features/${name}.ts must export one value`);
  return declared;
}

const names = readdirSync(FOLDER)
  .map((file) => file.replace(/\.ts$/, ''))
  .sort();

/** The declarations of all features in `test/features/`, in the order in which their calls run. */
export const FEATURES: readonly FeatureTests[] = await Promise.all(
  [...FIRST, ...names.filter((name) => ![...FIRST, ...LAST].includes(name)), ...LAST].map(read),
);

/** Merges tables of several features into one. @throws {Error} If two tables have an entry of the same name. */
export function gather<T>(tables: readonly (Readonly<Record<string, T>> | undefined)[]): Readonly<Record<string, T>> {
  const entries = tables.flatMap((table = {}) => Object.entries(table));
  const gathered = Object.fromEntries(entries);
  if (Object.keys(gathered).length < entries.length) throw new Error('Two features have an entry of the same name');
  return gathered;
}

/** Functions that create an object that only its owner can see, by the names that the features declare. */
export const OBJECTS = gather(FEATURES.map(({ objects }) => objects));

/** Functions that make changes whose events only the changing user receives, by the kind of object. */
export const OWN_CHANGES = Object.entries(gather(FEATURES.map(({ ownChanges }) => ownChanges)));
