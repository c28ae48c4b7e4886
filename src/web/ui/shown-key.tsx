import { useEffect, useRef } from 'react';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { useClose } from './dialog.tsx';
import { TextField } from './form.tsx';

/** Content of a dialog with a new API key, which is not shown again after the dialog is closed. */
export function ShownKey({ value }: { readonly value: string }) {
  const close = useClose();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <div className="form">
      <p>Copy the API key now. It is not shown again.</p>
      <TextField label="API key" ref={field} value={value} readOnly onFocus={(event) => event.currentTarget.select()} />
      <div className="form-actions">
        <CopyButton of="API key" text={value} field={field} />
        <Button kind="primary" onClick={close}>
          Done
        </Button>
      </div>
    </div>
  );
}
