import { useStore } from '../base/store.ts';
import { useSettings } from '../settings/use-settings.ts';
import { IconButton } from '../ui/button.tsx';
import { setTheme, theme } from './theme.ts';

const NEXT = { system: 'light', light: 'dark', dark: 'system' } as const;
const SCHEMES = { system: 'AUTOMATIC', light: 'LIGHT', dark: 'DARK' } as const;
const ICONS = { system: 'half', light: 'sun', dark: 'moon' } as const;
const LABELS = { system: 'Theme: system default', light: 'Theme: light', dark: 'Theme: dark' } as const;

/**
 * Button that switches between system, light and dark colors. The theme is a user setting, so that it applies on all devices.
 */
export function ThemeSwitch() {
  const current = useStore(theme);
  const { change } = useSettings();
  const go = () => {
    setTheme(NEXT[current]);
    void change({ colorScheme: SCHEMES[NEXT[current]] });
  };
  return <IconButton icon={ICONS[current]} label={LABELS[current]} onClick={go} />;
}
