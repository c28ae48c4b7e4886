import { TextField } from '../ui/form.tsx';
import { Menu } from '../ui/menu.tsx';
import { fieldValueOf, inAnHour, presets } from './times.ts';

interface MenuProps {
  readonly label: string;
  /** Called with the suggested time that the user chooses. @param at In ISO 8601. */
  readonly onChoose: (at: string) => void;
  /** Called when the user chooses to enter another time. */
  readonly onOther: () => void;
}

/** Menu of suggested times, with an item for any other time. */
export function TimesMenu({ label, onChoose, onOther }: MenuProps) {
  const times = presets().map(({ label: name, at }) => ({
    label: name,
    icon: 'clock' as const,
    onChoose: () => onChoose(at.toISOString()),
  }));
  return <Menu label={label} groups={[times, [{ label: 'Another time…', icon: 'edit', onChoose: onOther }]]} />;
}

/** Field for a future date and time, with the form name `at`. @param value Initial value. */
export function TimeField({ value = inAnHour() }: { readonly value?: string }) {
  return (
    <TextField
      label="Date and time"
      name="at"
      type="datetime-local"
      required
      min={fieldValueOf(new Date())}
      defaultValue={value}
    />
  );
}
