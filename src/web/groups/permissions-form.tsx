import { type FormEvent, useState } from 'react';
import type { GroupSettingEditInput, GroupSettingInput, HoldersFragment } from '../generated/graphql.ts';
import { announce } from '../ui/announcer.tsx';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { PermissionField } from './permission-field.tsx';

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
  const [edits, setEdits] = useState<Partial<Record<N, GroupSettingEditInput>>>({});
  // Grows when they are saved: from then on each field shows what is so.
  const [saved, setSaved] = useState(0);
  const put = (name: N, next: GroupSettingInput) => setEdits((before) => ({ ...before, [name]: { new: next } }));
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!(await save(edits))) return;
    setEdits({});
    setSaved(saved + 1);
    announce('Saved');
  };
  return (
    <form className="form" onSubmit={submit}>
      {(Object.keys(labels) as N[]).map((name) => (
        <PermissionField
          key={`${name} ${saved}`}
          label={labels[name]}
          holders={holders[name]}
          isFixed={isFixed}
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
