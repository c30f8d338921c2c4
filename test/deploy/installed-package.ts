/** The package of the server, packed by `npm run package` and installed with its dependencies. */
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../support/process.ts'

const PACKAGES = path.join(ROOT, 'dist/packages')

export async function installedPackage(folder: string): Promise<void> {
  const npm = (...args: string[]) => promisify(execFile)('npm', args, { cwd: ROOT })
  await npm('run', '--silent', 'package')
  const name = readdirSync(PACKAGES).find((file) => /^pilothouse-\d.*\.tgz$/.test(file))!
  const how = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  await npm('install', ...how, '--prefix', folder, path.join(PACKAGES, name))
}
