import { expect, test } from 'vitest';
import { EDITABLE_ORGANIZATION_SETTINGS, ORGANIZATION_GROUP_SETTINGS } from '../../src/access/organization-settings.ts';
import type { GroupRule } from '../../src/access/permission-values.ts';
import { OF_OWNERS } from '../../src/administration/organization/update.ts';
import { permissionFieldName, settingFieldName } from '../../src/api/graphql/schema/setting-fields.ts';
import { type Setting, withEffect } from '../../src/platform/setting.ts';
import { PERMISSION_GROUPS, SETTING_GROUPS } from '../../src/web/administration/setting-table.ts';

const byName = <T extends { readonly name: string }>(all: readonly T[]): T[] =>
  all.toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** Returns the options of a setting with a closed set of values, named as in GraphQL, and the name of its initial value. */
function choicesOf({ choices, type, initial }: Setting<unknown>) {
  const values = Object.entries(choices?.values ?? {}).filter(([, [value]]) => type.safeParse(value).success);
  return { options: values.map(([name]) => name), initial: values.find(([, [value]]) => value === initial)?.[0] };
}

test('the page offers all settings with the defaults, limits and owners of the service', () => {
  const settings = SETTING_GROUPS.flatMap((group) => group.settings);
  const shown = settings
    .filter((one) => one.kind !== 'icon')
    .filter(({ name }) => name !== 'name' && name !== 'description');
  const rules = Object.entries(withEffect(EDITABLE_ORGANIZATION_SETTINGS) as Record<string, Setting<unknown>>);
  // The page on security has the others, because they can need a password.
  const expected = rules
    .filter(([name]) => name !== 'second_factor_required_role' && name !== 'audit_log_days')
    .map(([name, rule]) => ({
      name: settingFieldName(name).replace(/Id$/, ''),
      isOfOwners: OF_OWNERS.has(name),
      initial: rule.names === undefined ? rule.initial : null,
      ...(rule.choices !== undefined && choicesOf(rule)),
      ...(rule.max !== undefined && rule.isKnown === undefined && { limit: rule.max }),
      ...(rule.unlimited !== undefined && { unlimited: rule.unlimited }),
    }));
  const offered = shown.map(({ name, isOfOwners = false, initial, ...rest }) => ({
    ...{ name, isOfOwners, initial },
    ...('options' in rest && name !== 'defaultLanguage' && { options: rest.options.map(([value]) => value) }),
    ...('limit' in rest && { limit: rest.limit }),
    ...('unlimited' in rest && rest.unlimited !== undefined && { unlimited: rest.unlimited[0] }),
  }));
  const sorted = <T extends { options?: readonly string[] }>(one: T) => ({ ...one, options: one.options?.toSorted() });
  expect(byName(offered).map(sorted)).toEqual(byName(expected).map(sorted));
});

test('the page offers all permissions with the defaults, groups and owners of the service', () => {
  const shown = PERMISSION_GROUPS.flatMap(({ settings }) => settings);
  const offered = shown.map(({ name, isOfOwners = false, initial, only, without }) => ({
    ...{ name, isOfOwners, initial, only },
    ...(only === undefined && { without: without.toSorted() }),
  }));
  const rules = Object.entries(
    withEffect(ORGANIZATION_GROUP_SETTINGS) as Record<string, GroupRule & { initial: string }>,
  );
  const expected = rules.map(([name, { initial, only, everyone, nobody = true }]) => ({
    ...{ name: permissionFieldName(name), isOfOwners: OF_OWNERS.has(name), initial, only },
    ...(only === undefined && {
      without: ['role:internet', ...(everyone ? [] : ['role:everyone']), ...(nobody ? [] : ['role:nobody'])].toSorted(),
    }),
  }));
  expect(byName(offered)).toEqual(byName(expected));
});
