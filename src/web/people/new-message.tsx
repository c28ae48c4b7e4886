import { type FormEvent, useState } from 'react';
import { focusComposerSoon } from '../keyboard/focus.ts';
import { navigate } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import type { Named } from './named.ts';
import { PeoplePicker } from './people-picker.tsx';

/** Dialog that opens the direct conversation with one or several users. */
export function NewMessageDialog() {
  return (
    <Dialog title="New message">
      <Recipients />
    </Dialog>
  );
}

function Recipients() {
  const close = useClose();
  const [chosen, setChosen] = useState<readonly Named[]>([]);
  const open = (event: FormEvent) => {
    event.preventDefault();
    if (chosen.length === 0) return;
    close();
    navigate(addressOf({ name: 'direct', userIds: chosen.map(({ id }) => id) }));
    focusComposerSoon();
  };
  return (
    <form className="form" onSubmit={open}>
      <PeoplePicker label="To" hint="One person, or several for a group conversation." onChange={setChosen} isFirst />
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={chosen.length === 0}>
          Write a message
        </Button>
      </div>
    </form>
  );
}
