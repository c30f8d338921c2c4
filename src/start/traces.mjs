/**
 * Maps stack traces of a build to source lines. --enable-source-maps would read every map at start, a tenth of its time;
 * this reads a map when an error in its file is first shown.
 */
import fs from 'node:fs'
import { SourceMap } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** file → source map; null: none */
const maps = new Map()

/** `folder`: absolute path of the build. */
export function traceSources(folder) {
  Error.prepareStackTrace = (error, sites) =>
    [headOf(error), ...sites.map((site) => lineOf(site, folder))].join('\n    at ')
}

function headOf(error) {
  try {
    return String(error)
  } catch {
    return 'Error'
  }
}

function lineOf(site, folder) {
  const shown = String(site)
  const [named, line, column] = [site.getFileName(), site.getLineNumber(), site.getColumnNumber()]
  if (!named?.startsWith('file:') || line === null) return shown
  const file = fileURLToPath(named)
  if (path.dirname(file) !== folder) return shown
  // packages have no mappings and stay unchanged
  const { originalSource, originalLine, originalColumn } = mapOf(file)?.findEntry(line - 1, column - 1) ?? {}
  if (originalSource === undefined || originalSource === null) return shown
  const source = path.join(folder, originalSource)
  return shown.replace(`${named}:${line}:${column}`, () => `${source}:${originalLine + 1}:${originalColumn + 1}`)
}

function mapOf(file) {
  if (!maps.has(file)) maps.set(file, read(`${file}.map`))
  return maps.get(file)
}

function read(file) {
  try {
    return new SourceMap(JSON.parse(fs.readFileSync(file, 'utf8')))
  } catch {
    return null
  }
}
