import { TextField } from '../ui/form.tsx';
import { Menu } from '../ui/menu.tsx';
import { fieldValueOf, inAnHour, presets } from './times.ts';

interface MenuProps {
  readonly label: string;
  /** @param at ISO 8601. */
  readonly onChoose: (at: string) => void;
  /** None of these is meant. */
  readonly onOther: () => void;
}

/** The times that many choose, and the way to any other. */
export function TimesMenu({ label, onChoose, onOther }: MenuProps) {
  const times = presets().map(({ label: name, at }) => ({
    label: name,
    icon: 'clock' as const,
    onChoose: () => onChoose(at.toISOString()),
  }));
  return <Menu label={label} groups={[times, [{ label: 'Another time…', icon: 'edit', onChoose: onOther }]]} />;
}

/** A date and a time to come, in a form by the name `at`. @param value What it shows at first. */
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
