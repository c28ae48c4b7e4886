import { type FormEvent, useRef, useState } from 'react';
import type { GroupSettingEditInput, GroupSettingInput, HoldersFragment } from '../generated/graphql.ts';
import { holdersAsIs, holdersSpoken } from '../people/group-names.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { notify } from '../ui/notices.tsx';
import { HolderGroupsFailure, PermissionField } from './permission-field.tsx';

/** An unsaved change of a permission. */
interface Edit {
  readonly next: GroupSettingInput;
  /** The holders when the viewer began the change. */
  readonly begun: HoldersFragment;
  /**
   * The holders that the viewer has seen. If the current holders differ because of another user, saving fails instead of
   * overwriting them.
   */
  readonly known: HoldersFragment;
}

interface Props<N extends string> {
  /** Label of the field of each permission. */
  readonly labels: Readonly<Record<N, string>>;
  readonly holders: Readonly<Record<N, HoldersFragment>>;
  readonly isFixed: boolean;
  readonly refusal: string | undefined;
  /** Saves the changed permissions. @returns Whether the service accepted them. */
  readonly save: (edits: Partial<Record<N, GroupSettingEditInput>>) => Promise<boolean>;
}

/** Form for the permissions of a channel or a group. */
export function PermissionsForm<N extends string>({ labels, holders, isFixed, refusal, save }: Props<N>) {
  const [edits, setEdits] = useState<Partial<Record<N, Edit>>>({});
  // Incremented after saving, so that each field is reset to the current holders.
  const [saved, setSaved] = useState(0);
  const latest = useRef(holders);
  latest.current = holders;
  const put = (name: N, next: GroupSettingInput) =>
    setEdits((before) => {
      const now = holders[name];
      return { ...before, [name]: { begun: now, known: now, ...before[name], next } };
    });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const changes = mapValues(edits, ({ next, known }: Edit) => ({ new: next, old: holdersAsIs(known) }));
    if (!(await save(changes))) {
      // The fields now show the current holders, so the next attempt may overwrite them.
      setEdits((before) => mapValues(before, (edit: Edit, name) => ({ ...edit, known: latest.current[name] })));
      return;
    }
    setEdits({});
    setSaved(saved + 1);
    notify('Saved.');
  };
  return (
    <form className="form" onSubmit={submit}>
      <HolderGroupsFailure />
      {(Object.keys(labels) as N[]).map((name) => (
        <PermissionField
          key={`${name} ${saved}`}
          label={labels[name]}
          holders={holders[name]}
          isFixed={isFixed}
          changedTo={changedTo(edits[name]?.begun, holders[name])}
          onChange={(next) => put(name, next)}
        />
      ))}
      <Refusal>{refusal}</Refusal>
      {!isFixed && (
        <div className="form-actions">
          <Button kind="primary" type="submit" disabled={Object.keys(edits).length === 0}>
            Save permissions
          </Button>
        </div>
      )}
    </form>
  );
}

/**
 * Returns the current holders of a permission, as text, if another user has changed them since the viewer began to edit;
 * otherwise undefined.
 */
function changedTo(begun: HoldersFragment | undefined, now: HoldersFragment): string | undefined {
  if (begun === undefined || JSON.stringify(holdersAsIs(begun)) === JSON.stringify(holdersAsIs(now))) return undefined;
  return holdersSpoken(now);
}

const mapValues = <N extends string, A, B>(
  values: Partial<Record<N, A>>,
  map: (value: A, name: N) => B,
): Partial<Record<N, B>> =>
  Object.fromEntries((Object.entries(values) as [N, A][]).map(([name, value]) => [name, map(value, name)])) as Partial<
    Record<N, B>
  >;
