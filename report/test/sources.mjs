// Makes modules of src/ available to tests.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const here = dirname(fileURLToPath(import.meta.url))

export async function importSource(name) {
  const result = await build({
    entryPoints: [join(here, '../src', name)],
    bundle: true,
    write: false,
    format: 'esm',
    logLevel: 'warning',
  })
  const code = Buffer.from(result.outputFiles[0].contents).toString('base64')
  return import(`data:text/javascript;base64,${code}`)
}
