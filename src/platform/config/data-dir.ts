/** Defaults of DATA_DIR: a folder of the checkout, or one of the account when the package is installed. */
import fs from 'node:fs'
import path from 'node:path'
import { CHECKOUT } from '../files/checkout.ts'

/** `program`: name of the folder of an installed program. */
export function defaultDataDir(program: string): string {
  return fs.existsSync(path.join(CHECKOUT, 'src/main.ts')) ? '.data' : dataDirOfAccount(program, process.env)
}

/** The same from every current folder, so that commands find the server's data. Only a process without HOME uses the current folder. */
function dataDirOfAccount(program: string, { XDG_DATA_HOME, HOME }: NodeJS.ProcessEnv): string {
  if (process.getuid?.() === 0) return `/var/lib/${program}`
  const folder = XDG_DATA_HOME || (HOME && path.join(HOME, '.local/share'))
  return folder ? path.join(folder, program) : '.data'
}
