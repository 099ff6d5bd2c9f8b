// Package web renders the page of a migration: templates, one stylesheet and
// one small script, all embedded. It renders the read model of package status;
// it holds no handler and decides nothing.
package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static
var static embed.FS

// Static is the stylesheet and the script.
func Static() fs.FS {
	sub, err := fs.Sub(static, "static")
	if err != nil {
		return static // never: the folder is embedded above
	}
	return sub
}

// Page holds the parsed templates.
type Page struct {
	set *template.Template
}

// New parses the templates; an error means the program was built wrong.
func New() (*Page, error) {
	set, err := template.ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse the page's templates: %w", err)
	}
	return &Page{set: set}, nil
}

// Whole renders the page.
func (p *Page) Whole(out *bytes.Buffer, v View) error { return p.draw(out, "page", v) }

// Regions renders only what changes, for the script.
func (p *Page) Regions(out *bytes.Buffer, v View) error { return p.draw(out, "regions", v) }

func (p *Page) draw(out *bytes.Buffer, name string, v View) error {
	if err := p.set.ExecuteTemplate(out, name, v); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	return nil
}
