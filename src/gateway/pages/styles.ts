/**
 * What the pages for people add to the looks of the tools on them: text stands out from its ground by 4.5 to 1 (WCAG 2.2, 1.4.3), which the
 * tools' own colours do not always.
 */

export const REFERENCE_STYLE = `
  .swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f5fa8; }
  .swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1a7344; }
  .swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #0b6b63; }
  .swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e; }
  .swagger-ui .opblock.opblock-deprecated { opacity: 1; }
  .swagger-ui .opblock.opblock-deprecated .opblock-summary-method { background: #5c5c5c; }
  .swagger-ui .btn.authorize { border-color: #1a7344; color: #1a7344; }
  .swagger-ui .btn.authorize svg { fill: #1a7344; }
  .swagger-ui .btn.cancel { border-color: #b3261e; color: #b3261e; }
  .swagger-ui .btn.execute { background: #1f5fa8; border-color: #1f5fa8; }
  .swagger-ui .info .title small { background: #57606a; }
  .swagger-ui .info .title small.version-stamp { background: #3f6600; }
  .swagger-ui .info a, .swagger-ui .info .link, .swagger-ui .info .link .url { color: #1f5fa8; }
  .swagger-ui .markdown code, .swagger-ui .renderedMarkdown code { color: #6f0bc9; }
  .swagger-ui .download-contents { background: #57606a; }
  .swagger-ui .parameter__in, .swagger-ui .json-schema-2020-12-expand-deep-button { color: #57606a; }
  .swagger-ui .model-box { background: #fff; }
  .swagger-ui .json-schema-2020-12__constraint--string { background: #8a5a00; }
  .swagger-ui .microlight { background: #1a1a1a !important; }
`;

export const GRAPHIQL_STYLE = `
  .graphiql-container .graphiql-doc-explorer a { text-decoration: underline; }
  .graphiql-container .monaco-editor.vs-dark .line-numbers { color: #a3adba; }
  /* Comments. */
  .graphiql-container .monaco-editor.vs-dark .mtk8 { color: #8fc07c; }
  @media (prefers-color-scheme: light) {
    body:not(.graphiql-dark) .graphiql-container {
      --color-error: 13, 93%, 33%;
      --color-info: 208, 100%, 36%;
      --color-warning: 36, 100%, 27%;
      --alpha-secondary: 0.9;
    }
    body:not(.graphiql-dark) .graphiql-container .monaco-editor .line-numbers { color: #57606a; }
    /* Numbers. */
    body:not(.graphiql-dark) .graphiql-container .monaco-editor .mtk8 { color: #06603f; }
  }
`;
