import { useEffect, useState } from 'react';

/** A QR code, drawn as SVG. Its library is loaded when a code is first shown. @param label Text for screen readers. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const [path, setPath] = useState<{ readonly d: string; readonly size: number }>();
  useEffect(() => {
    let isShown = true;
    void import('uqr').then(({ encode }) => {
      const { data, size } = encode(text, { ecc: 'M', border: 4 });
      const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])));
      if (isShown) setPath({ d: squares.join(''), size });
    });
    return () => {
      isShown = false;
    };
  }, [text]);
  return (
    <svg
      className="qr-code"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${path?.size ?? 1} ${path?.size ?? 1}`}
      width="192"
      height="192"
      shapeRendering="crispEdges"
    >
      <rect width="100%" height="100%" fill="#fff" />
      {path !== undefined && <path d={path.d} fill="#000" />}
    </svg>
  );
}
