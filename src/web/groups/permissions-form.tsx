import { type FormEvent, useRef, useState } from 'react';
import type { GroupSettingEditInput, GroupSettingInput, HoldersFragment } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { notify } from '../ui/notices.tsx';
import { holdersAsIs, holdersSpoken } from './group-names.ts';
import { PermissionField } from './permission-field.tsx';

/** A permission that somebody gives to others. */
interface Edit {
  readonly next: GroupSettingInput;
  /** Who held it when they began to. */
  readonly begun: HoldersFragment;
  /** Who they know holds it: a change of anybody else that they have not been told of is not overwritten. */
  readonly known: HoldersFragment;
}

interface Props<N extends string> {
  /** Each permission with what it allows. */
  readonly labels: Readonly<Record<N, string>>;
  readonly holders: Readonly<Record<N, HoldersFragment>>;
  readonly isFixed: boolean;
  readonly refusal: string | undefined;
  /** @returns Whether it was done. */
  readonly save: (edits: Partial<Record<N, GroupSettingEditInput>>) => Promise<boolean>;
}

/** Who may do what with something. */
export function PermissionsForm<N extends string>({ labels, holders, isFixed, refusal, save }: Props<N>) {
  const [edits, setEdits] = useState<Partial<Record<N, Edit>>>({});
  // Grows when they are saved: from then on each field shows what is so.
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
      // Who tries again has seen, beside each field, who holds it by now.
      setEdits((before) => mapValues(before, (edit: Edit, name) => ({ ...edit, known: latest.current[name] })));
      return;
    }
    setEdits({});
    setSaved(saved + 1);
    notify('Saved.');
  };
  return (
    <form className="form" onSubmit={submit}>
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

/** Who holds a permission that somebody else has changed since one began to; undefined where nobody has. */
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
