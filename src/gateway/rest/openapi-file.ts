import { type StaticFile, staticFile } from '../../core/http/static-file.ts';
import { routes } from '../routes.ts';
import { openApiDocument } from './openapi.ts';

/** The file openapi.json, which names the address of the gateway: known only once it listens. */
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
