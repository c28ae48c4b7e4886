import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import './confirmation.css';
import { Dialog, useClose } from './dialog.tsx';
import { Refusal } from './form.tsx';

interface Props {
  /** The question. */
  readonly title: string;
  /** What is done if so: the word on the button. */
  readonly action: string;
  readonly refusal: string | undefined;
  readonly isBusy: boolean;
  /** @returns Whether it is done; the question goes then. */
  readonly onConfirm: () => Promise<boolean>;
  /** What will be the case then. */
  readonly children: ReactNode;
}

/** Asks before something is done that cannot be undone. */
export function Confirmation({ title, action, refusal, isBusy, onConfirm, children }: Props) {
  return (
    <Dialog title={title}>
      <p>{children}</p>
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
