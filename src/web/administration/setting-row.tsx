import { type MouseEvent, type ReactNode, useId } from 'react';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { focusControl } from './setting-controls.tsx';

interface Props {
  readonly explanation: string;
  /** The initial value, as text. Undefined if there is none. */
  readonly initial: string | undefined;
  /** The groups that can hold a permission, as text. */
  readonly allowed?: string | undefined;
  readonly isOfOwners: boolean;
  readonly refusal: string | undefined;
  readonly undo: (() => Promise<boolean>) | undefined;
  /** Renders the control. @param hintId ID of the explanation, for `aria-describedby`. */
  readonly children: (hintId: string) => ReactNode;
}

/** A setting with its explanation, default and errors, and a button that undoes the last change. */
export function SettingRow({ explanation, initial, allowed, isOfOwners, refusal, undo, children }: Props) {
  const hintId = useId();
  const restore = async ({ currentTarget }: MouseEvent) => {
    const row = currentTarget.closest('.setting');
    await undo?.();
    focusControl(row);
  };
  return (
    <div className="setting">
      {children(hintId)}
      <p className="field-hint" id={hintId}>
        {explanation}
        {initial !== undefined && ` Default: ${initial}.`}
        {allowed !== undefined && ` Allowed: ${allowed}.`}
        {isOfOwners && ' Only owners can change this.'}
      </p>
      <Refusal>{refusal}</Refusal>
      <div role="status" className="setting-saved">
        {undo !== undefined && (
          <>
            Saved.{' '}
            <Button kind="quiet" onClick={(event) => void restore(event)}>
              Undo
            </Button>
          </>
        )}
      </div>
    </div>
  );
}
