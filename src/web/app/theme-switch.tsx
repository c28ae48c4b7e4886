import { useStore } from '../api/store.ts';
import { useSettings } from '../settings/use-settings.ts';
import { IconButton } from '../ui/button.tsx';
import { setTheme, theme } from './theme.ts';

const NEXT = { system: 'light', light: 'dark', dark: 'system' } as const;
const SCHEMES = { system: 'AUTOMATIC', light: 'LIGHT', dark: 'DARK' } as const;
const ICONS = { system: 'half', light: 'sun', dark: 'moon' } as const;
const LABELS = { system: 'Colors: as the system', light: 'Colors: light', dark: 'Colors: dark' } as const;

/** Goes through what there is: as the system is, light, dark. It is a setting, so that other devices follow. */
export function ThemeSwitch() {
  const current = useStore(theme);
  const { change } = useSettings();
  const go = () => {
    setTheme(NEXT[current]);
    void change({ colorScheme: SCHEMES[NEXT[current]] });
  };
  return <IconButton icon={ICONS[current]} label={LABELS[current]} onClick={go} />;
}
