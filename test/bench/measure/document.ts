/** Writes tables into a document, between the marks of their kind, with a line about the machine. */
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import os from 'node:os'
import { asMarkdown, type Table } from './report.ts'

/** `mark`: the document has `<!-- mark -->` and `<!-- /mark -->`; the text between them is replaced. */
export async function writeTables(
  file: string,
  mark: string,
  tables: readonly { what: string; table: Table }[],
): Promise<void> {
  const text = await readFile(file, 'utf8')
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${file} has no place for the tables: ${begin} and ${end}.`)
  const body = [machine(), ...tables.map(({ what, table }) => `### ${what}\n\n${asMarkdown(table)}`)].join('\n\n')
  await writeFile(file, `${text.slice(0, from)}${begin}\n\n${body}\n\n${text.slice(to)}`)
}

function machine(): string {
  const cores = os.cpus()
  const memory = Math.round(os.totalmem() / 2 ** 30)
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const model = cores[0]?.model.trim() || os.arch()
  const day = new Date().toISOString().slice(0, 10)
  return `Measured on ${day} at commit ${commit}: ${cores.length} cores (${model}), ${memory} GiB, ${os.type()} ${os.release()}, Node ${process.versions.node}, the embedded Postgres; load 1 minute before the end ${os.loadavg()[0]!.toFixed(1)}.`
}
