import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Express } from 'express';

/** Every file a page needs: ours, and two libraries as they are published. Nothing is fetched from anywhere else. */
const FILES = {
  'console.css': { from: import.meta.resolve('./public/console.css'), type: 'text/css' },
  'board.css': { from: import.meta.resolve('./public/board.css'), type: 'text/css' },
  'console.js': { from: import.meta.resolve('./public/console.js'), type: 'text/javascript' },
  'icon.svg': { from: import.meta.resolve('./public/icon.svg'), type: 'image/svg+xml' },
  'htmx.js': { from: import.meta.resolve('htmx.org/dist/htmx.min.js'), type: 'text/javascript' },
  'uplot.js': { from: import.meta.resolve('uplot/dist/uPlot.iife.min.js'), type: 'text/javascript' },
  'uplot.css': { from: import.meta.resolve('uplot/dist/uPlot.min.css'), type: 'text/css' },
} as const;

interface Asset {
  readonly bytes: Buffer;
  readonly type: string;
  readonly hash: string;
}

const assets = new Map<string, Asset>(
  Object.entries(FILES).map(([name, { from, type }]) => {
    const bytes = readFileSync(fileURLToPath(from));
    return [name, { bytes, type, hash: createHash('sha256').update(bytes).digest('base64url').slice(0, 12) }];
  }),
);

/** The address changes with the content, so a browser may keep it for ever and still never mixes two versions. */
export const assetPath = (name: keyof typeof FILES): string => `/assets/${assets.get(name)?.hash}/${name}`;

export function serveAssets(app: Express): void {
  app.get('/assets/:hash/:name', (request, response, next) => {
    const asset = assets.get(request.params.name);
    if (asset?.hash !== request.params.hash) return next();
    response
      .set({
        'content-type': `${asset.type}; charset=utf-8`,
        'cache-control': 'public, max-age=31536000, immutable',
      })
      .send(asset.bytes);
  });
}
