import type { ButtonHTMLAttributes } from 'react';
import { Icon, type IconName } from './icons.tsx';

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { readonly kind?: 'plain' | 'primary' | 'quiet' };

export function Button({ kind = 'plain', type = 'button', className = '', ...rest }: ButtonProps) {
  return <button type={type} className={`button button-${kind} ${className}`} {...rest} />;
}

type IconButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & { readonly icon: IconName; readonly label: string };

/** A button with an icon. `label` is its accessible name and its tooltip. */
export function IconButton({ icon, label, type = 'button', className = '', ...rest }: IconButtonProps) {
  return (
    <button type={type} className={`icon-button ${className}`} aria-label={label} title={label} {...rest}>
      <Icon name={icon} />
    </button>
  );
}

interface RemoveProps {
  readonly id: string;
  readonly name: string;
  /** Called to remove the entry. If undefined, the viewer cannot remove the entry, and no button is rendered. */
  readonly onRemove: ((id: string) => void) | undefined;
}

/** Button that removes an entry from its list. */
export function RemoveButton({ id, name, onRemove }: RemoveProps) {
  if (onRemove === undefined) return null;
  return (
    <Button aria-label={`Remove ${name}`} onClick={() => onRemove(id)}>
      Remove
    </Button>
  );
}
