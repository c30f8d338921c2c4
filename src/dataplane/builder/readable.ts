/** Files of a source as an image is to have them: whoever runs it can read them, whatever the server's umask was. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Symlinks are left alone. */
export async function readable(tree: string): Promise<void> {
  await promisify(execFile)('chmod', ['-R', 'u+rwX,go=rX', '--', tree])
}
