import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import './confirmation.css';
import { Dialog, useClose } from './dialog.tsx';
import { Refusal } from './form.tsx';

interface Props {
  /** The question to the user, such as "Delete this message?". */
  readonly title: string;
  /** Label of the button that confirms. */
  readonly action: string;
  readonly refusal: string | undefined;
  readonly isBusy: boolean;
  /** Runs the action. @returns Whether it succeeded. If so, the dialog closes. */
  readonly onConfirm: () => Promise<boolean>;
  /** The consequences of the action. */
  readonly children: ReactNode;
}

/** Dialog that asks for confirmation before an action with far-reaching consequences. */
export function Confirmation({ title, action, refusal, isBusy, onConfirm, children }: Props) {
  return (
    <Dialog title={title}>
      <div className="confirmation-text">{children}</div>
      <Refusal>{refusal}</Refusal>
      <Buttons action={action} isBusy={isBusy} onConfirm={onConfirm} />
    </Dialog>
  );
}

function Buttons({ action, isBusy, onConfirm }: Pick<Props, 'action' | 'isBusy' | 'onConfirm'>) {
  const close = useClose();
  const confirm = async () => {
    if (await onConfirm()) close();
  };
  return (
    <div className="form-actions">
      <Button onClick={close}>Cancel</Button>
      <Button kind="primary" className="button-danger" disabled={isBusy} data-autofocus onClick={() => void confirm()}>
        {action}
      </Button>
    </div>
  );
}
