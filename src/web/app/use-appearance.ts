import { useEffect } from 'react';
import { useSettings } from '../settings/use-settings.ts';
import { setClock } from '../ui/clock.ts';
import { setTheme } from './theme.ts';

const THEMES = { AUTOMATIC: 'system', LIGHT: 'light', DARK: 'dark' } as const;
/** Font size in pixels for which the styles are written. */
const USUAL_SIZE_PX = 16;

/** Applies the viewer's settings for colors, font size and time format, including changes from other devices. */
export function useAppearance(): void {
  const { settings } = useSettings();
  const { colorScheme, webFontSizePx, twentyFourHourTime = null } = settings ?? {};
  useEffect(() => {
    if (colorScheme !== undefined) setTheme(THEMES[colorScheme]);
  }, [colorScheme]);
  useEffect(() => {
    const size = webFontSizePx ?? USUAL_SIZE_PX;
    document.documentElement.style.fontSize = size === USUAL_SIZE_PX ? '' : `${(100 * size) / USUAL_SIZE_PX}%`;
  }, [webFontSizePx]);
  useEffect(() => setClock(twentyFourHourTime), [twentyFourHourTime]);
}
