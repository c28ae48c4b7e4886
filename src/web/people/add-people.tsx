import { type FormEvent, useState } from 'react';
import type { Command } from '../api/use-command.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import type { Named } from './named.ts';
import { PeoplePicker } from './people-picker.tsx';

interface Props<V> {
  readonly label: string;
  readonly withGroups?: boolean;
  readonly command: Command<V>;
  /** Returns the variables of the mutation that adds the chosen users and groups. */
  readonly adding: (chosen: readonly Named[]) => V;
}

/** Form that adds users and groups by name. It is emptied after each success. */
export function AddPeople<V>({ label, withGroups = false, command: { run, refusal, isBusy }, adding }: Props<V>) {
  const [chosen, setChosen] = useState<readonly Named[]>([]);
  // Incremented to replace the picker with an empty one.
  const [times, setTimes] = useState(0);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!(await run(adding(chosen)))) return;
    setChosen([]);
    setTimes(times + 1);
  };
  return (
    <form className="form" onSubmit={submit}>
      <PeoplePicker key={times} label={label} withGroups={withGroups} onChange={setChosen} />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy || chosen.length === 0}>
          Add
        </Button>
      </div>
    </form>
  );
}
