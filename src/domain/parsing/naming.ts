/** Converts field names: snake_case in JSON; camelCase in code, Prisma and GraphQL. */

/** `k8s_namespace` → `k8sNamespace`, in types */
export type Camel<S> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S

/** `k8s_namespace` → `k8sNamespace` */
export const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** `k8sNamespace` → `k8s_namespace` */
export const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
