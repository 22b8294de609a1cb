import { type StaticFile, staticFile } from '../../core/http/static-file.ts';
import { routes } from '../routes.ts';
import { openApiDocument } from './openapi.ts';

/** Creates openapi.json on first use, because the address of the gateway is known only after it listens. */
export function createOpenApiFile(): (publicUrl: string) => StaticFile {
  let known: { readonly publicUrl: string; readonly file: StaticFile } | undefined;
  return (publicUrl) => {
    if (known?.publicUrl !== publicUrl) {
      const text = JSON.stringify(openApiDocument(routes, publicUrl));
      known = { publicUrl, file: staticFile(text, 'application/json') };
    }
    return known.file;
  };
}
